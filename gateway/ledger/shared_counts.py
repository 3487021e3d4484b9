"""Quotas kept in the store, which all processes and hosts count on: one script, one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.ledger.quotas import SLICES, Reading, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis.asyncio import Redis

    from gateway.ledger.quotas import Quota

_CLOCK = """
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
"""
"""The store's own clock, so that those of hosts need not agree; a test may give another."""

_TAKE = (
    _CLOCK
    + f"local SLICES = {SLICES}\n"
    + """
local lease, lease_ms = ARGV[2], tonumber(ARGV[3])
local answer, admitted = {0, now}, 1
local function quota(i)
  local at = 3 * i + 1
  local limit, period, amount = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  return limit, period, amount, math.max(math.ceil(period / SLICES), 1)
end
for i, key in ipairs(KEYS) do
  local limit, period, amount, width = quota(i)
  local used, wait, reset = 0, 0, 0
  if period == 0 then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    used = redis.call('ZCARD', key)
    if used + amount > limit then wait = -1 end
  else
    local parts, counts, fields = {}, {}, redis.call('HGETALL', key)
    for f = 1, #fields, 2 do
      local part, count = tonumber(fields[f]), tonumber(fields[f + 1])
      if (part + 1) * width + period <= now then
        redis.call('HDEL', key, fields[f])
      else
        used = used + count
        parts[#parts + 1] = part
        counts[part] = count
      end
    end
    table.sort(parts)
    if #parts > 0 then reset = (parts[#parts] + 1) * width + period - now end
    local too_many = used + amount - limit
    if amount > limit then
      wait = -1
    elseif too_many > 0 then
      wait = -1
      for _, part in ipairs(parts) do
        too_many = too_many - counts[part]
        if too_many <= 0 then
          wait = (part + 1) * width + period - now
          break
        end
      end
    end
  end
  if wait ~= 0 then admitted = 0 end
  answer[#answer + 1] = used
  answer[#answer + 1] = wait
  answer[#answer + 1] = reset
end
if admitted == 0 then return answer end
answer[1] = 1
for i, key in ipairs(KEYS) do
  local limit, period, amount, width = quota(i)
  answer[3 * i] = answer[3 * i] + amount
  if period == 0 then
    redis.call('ZADD', key, now + lease_ms, lease)
    redis.call('PEXPIRE', key, 2 * lease_ms)
  else
    local part = math.floor(now / width)
    redis.call('HINCRBY', key, string.format('%d', part), amount)
    redis.call('PEXPIRE', key, period + 2 * width)
    answer[3 * i + 2] = (part + 1) * width + period - now
  end
end
return answer
"""
)
"""KEYS: the quotas. ARGV: the time or nothing, the lease and its length; then limit, period and amount of each."""

_GIVE_BACK = """
for i, key in ipairs(KEYS) do
  local part, unused = ARGV[2 * i], ARGV[2 * i + 1]
  if part == '' then
    redis.call('ZREM', key, ARGV[1])
  elseif redis.call('HEXISTS', key, part) == 1 then
    redis.call('HINCRBY', key, part, -tonumber(unused))
  end
end
"""
"""ARGV: the lease; then for each key the part and what goes back to it, or nothing for a quota of calls."""

_RENEW = (
    _CLOCK
    + """
local lease_ms = tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + lease_ms, ARGV[i + 2])
  redis.call('PEXPIRE', key, 2 * lease_ms)
end
"""
)
"""A lease that is not there is put there again: the store may have been started anew."""


class SharedCounts:
    """The counts of all processes. A call's lease ends by itself unless its process, living, renews it."""

    def __init__(self, store: Redis, lease_seconds: float, now: Callable[[], float] | None = None) -> None:
        self._lease_ms = round(lease_seconds * 1000)
        self._now = now
        self._take = store.register_script(_TAKE)
        self._give_back = store.register_script(_GIVE_BACK)
        self._renew = store.register_script(_RENEW)

    async def take(self, lease: str, quotas: Sequence[Quota]) -> Verdict:
        """Count the request on all quotas if each has room."""
        arguments: list[Any] = [self._time(), lease, self._lease_ms]
        for quota in quotas:
            arguments += [quota.limit, quota.period_ms, quota.amount]
        admitted, at_ms, *numbers = await self._take(keys=[quota.key for quota in quotas], args=arguments)
        triples = zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True)
        return Verdict(bool(admitted), at_ms, tuple(Reading(*triple) for triple in triples))

    async def give_back(self, lease: str, quotas: Sequence[Quota], unused: int, at_ms: int) -> None:
        """End the lease, and take unused tokens back out of the part that they were counted in."""
        keys: list[str] = []
        arguments: list[Any] = [lease]
        for quota in quotas:
            if quota.counts == "calls":
                keys.append(quota.key)
                arguments += ["", ""]
            elif quota.counts == "tokens" and unused:
                keys.append(quota.key)
                arguments += [at_ms // quota.width_ms, unused]
        if keys:
            await self._give_back(keys=keys, args=arguments)

    async def renew(self, leases: Sequence[tuple[str, str]]) -> None:
        """Let leases begin anew: quotas' keys, each with a lease."""
        if leases:
            names = [lease for _, lease in leases]
            await self._renew(keys=[key for key, _ in leases], args=[self._time(), self._lease_ms, *names])

    async def end(self, leases: Sequence[tuple[str, str]]) -> None:
        """End leases."""
        for key, lease in leases:
            await self._give_back(keys=[key], args=[lease, "", ""])

    def _time(self) -> str | int:
        return "" if self._now is None else int(self._now() * 1000)
