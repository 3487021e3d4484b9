// Streams an answer into the page as text, and shows times in the reader's own zone.
"use strict";

const form = document.getElementById("ask");
const button = form.querySelector("button");
const answer = document.getElementById("answer");
const [badge, text, note, refusal, sources] =
  ["badge", "text", "note", "refusal", "sources"].map((id) => document.getElementById(id));
let running = null;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else ask();
});

form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

htmx.onLoad((element) => {
  const style = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  for (const time of element.querySelectorAll("time")) time.textContent = style.format(new Date(time.dateTime));
});

async function ask() {
  running = new AbortController();
  begin();
  let decision = null;
  try {
    const response = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), signal: running.signal,
    });
    if (response.status === 401) return; // signed out: asking for the ledger, next, leads to the door
    decision = response.headers.get("soleira-decision");
    if (response.ok) await show(response);
    else await refuse(response);
  } catch (error) {
    note.textContent = error.name === "AbortError" ? answer.dataset.stopped : answer.dataset.broken;
    await new Promise((resolve) => setTimeout(resolve, 300)); // for the gateway to notice and write it down
  } finally {
    running = null;
    end(decision);
  }
}

function begin() {
  for (const part of [badge, text, refusal, sources.querySelector("ol")]) part.replaceChildren();
  sources.hidden = true;
  answer.hidden = false;
  answer.setAttribute("aria-busy", "true");
  note.textContent = answer.dataset.asking;
  button.textContent = button.dataset.stop;
}

function end(decision) {
  answer.removeAttribute("aria-busy");
  button.textContent = button.dataset.ask;
  if (decision) htmx.ajax("GET", `/dashboard/decisions/${encodeURIComponent(decision)}`, { target: badge });
  htmx.trigger("#ledger", "answered");
}

async function show(response) {
  const state = { text: "", citations: [], finished: false, failure: null };
  for await (const chunk of events(response.body)) {
    take(chunk, state);
    write(state.text, state.citations);
    note.textContent = state.text ? "" : answer.dataset.thinking;
  }
  note.textContent = state.finished ? "" : [answer.dataset.broken, state.failure].filter(Boolean).join(" ");
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (pending + value).split(/\r?\n\r?\n/);
    pending = parts.pop();
    for (const part of parts) {
      const data = part.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
      if (data.length && data[0].trim() !== "[DONE]") yield JSON.parse(data.join("\n"));
    }
  }
}

function take(chunk, state) {
  if (chunk.error) state.failure = chunk.error.message;
  for (const choice of chunk.choices ?? []) {
    state.text += choice.delta?.content ?? "";
    for (const annotation of choice.delta?.annotations ?? []) {
      if (annotation.type === "file_citation") state.citations.push(annotation.file_citation);
    }
    if (choice.finish_reason) state.finished = true;
  }
}

// What a model writes is text, whatever it looks like; only the markers of known sources become links.
function write(words, citations) {
  const known = new Set(citations.map((citation) => String(citation.index)));
  const parts = words.replace(/ (?=\[\d{1,3}\])/g, "\u00a0").split(/\[(\d{1,3})\]/);
  text.replaceChildren(...parts.map((part, index) => {
    if (index % 2 === 0) return part;
    return known.has(part) ? link(part) : `[${part}]`;
  }));
  if (citations.length && sources.hidden) list(citations);
}

function link(number) {
  const anchor = document.createElement("a");
  anchor.href = `#source-${number}`;
  anchor.className = "marker";
  anchor.textContent = number;
  return anchor;
}

function list(citations) {
  sources.hidden = false;
  sources.querySelector("h3").textContent = citations[0].cited ? answer.dataset.sources : answer.dataset.given;
  sources.querySelector("ol").replaceChildren(...citations.map((citation) => {
    const item = document.createElement("li");
    item.id = `source-${citation.index}`;
    item.value = citation.index;
    const file = document.createElement("strong");
    file.textContent = citation.file;
    item.append(file, ...place(citation).map((part) => ` · ${part}`));
    return item;
  }));
}

function place(citation) {
  const where = citation.page !== null ? answer.dataset.page.replace("#", citation.page)
    : citation.line !== null ? answer.dataset.line.replace("#", citation.line) : null;
  return [where, citation.heading].filter(Boolean);
}

async function refuse(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  note.textContent = "";
  const told = page.querySelector(".refusal");
  if (told) refusal.replaceChildren(document.adoptNode(told));
  else note.textContent = answer.dataset.broken;
}
