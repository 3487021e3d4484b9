FROM python:3.11-slim-bookworm
WORKDIR /soleira
COPY soleira requirements.lock requirements-dev.lock requirements-uv.lock ./
# Installs what is locked, in a layer of its own; `--help` needs the code below, so only its preparation counts here.
RUN ./soleira --help >/dev/null 2>&1 || test -f .venv/stamp
COPY pyproject.toml ./
COPY gateway gateway
COPY migrations migrations
COPY policies policies
COPY retrieval retrieval
RUN useradd --create-home soleira && install -d -o soleira -g soleira -m 700 /data
USER soleira
ENTRYPOINT ["./soleira"]
CMD ["up", "--host", "0.0.0.0", "--data", "/data"]
