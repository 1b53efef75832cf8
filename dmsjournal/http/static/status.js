// The status page: figures every two seconds, and a live tail of changes. Text from the database is only ever set as text.
"use strict";

const EVERY_MS = 2000;
const KEPT = 50; // changes in the tail
const at = (id) => document.getElementById(id);
const number = (value) => (value === null ? "?" : BigInt(value).toLocaleString("en-US"));

let token = sessionStorage.getItem("token");
let last = null; // the sequence that the tail has come to
let paused = false;
let stopTail = new AbortController();

function get(path, more = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return fetch(path, { ...more, headers: { ...headers, ...more.headers } });
}

async function problem(answer) {
  try {
    return (await answer.json()).detail;
  } catch {
    return `status ${answer.status}`;
  }
}

function say(text, bad = false) {
  const state = at("state");
  if (state.textContent !== text) state.textContent = text; // said once
  state.classList.toggle("bad", bad);
}

async function refresh() {
  try {
    const answer = await get("status?versions=string");
    at("token-form").hidden = answer.status !== 401;
    if (answer.ok) {
      const found = await answer.json();
      show(found);
      if (last === null) {
        last = found.newest;
        follow();
      }
    } else {
      say(await problem(answer), true);
    }
  } catch {
    say("The service does not answer.", true);
  }
  setTimeout(refresh, EVERY_MS);
}

function show(found) {
  at("database").textContent = found.database;
  const behind = found.lag_seconds >= 60;
  say(behind ? `Readers are ${age(found.lag_seconds)} behind.` : "Up to date.", behind);
  const facts = [
    ["newest", number(found.newest)],
    ["oldest", number(found.oldest)],
    ["last stamp", number(found.last_stamp)],
    ["versions behind", number(found.lag_versions)],
    ["behind for", age(found.lag_seconds)],
    ["database", found.database_bytes === null ? "?" : size(found.database_bytes)],
  ];
  at("horizon").replaceChildren(...facts.map(([name, value]) => group("div", cell("dt", name), cell("dd", value))));
  grow(found.history);
  rows("holders", found.holders, "Nobody.", (of) => [
    of.prepared === null ? `session ${of.pid}` : `prepared ${of.prepared}`,
    [number(of.floor)], of.user, of.application, of.client, of.state,
    [of.transaction_seconds === null ? "?" : age(of.transaction_seconds)],
  ]);
  rows("journals", found.journals, "None.", (of) => [
    of.name, [number(of.rows)], [size(of.bytes)], [number(of.rows_last_hour)], [number(of.rows_last_day)], [number(of.floor)],
    time(of.pruned_at),
  ]);
  rows("consumers", found.consumers, "None is registered.", (of) => [
    of.name, [number(of.change_version)], [number(of.lag_versions)], [age(of.lag_seconds)], time(of.updated_at),
    of.is_expired ? "expired" : "current",
  ]);
}

function grow(history) {
  const line = at("growth").querySelector("polyline");
  const note = at("growth-note");
  if (history.length < 2) {
    line.setAttribute("points", "");
    note.textContent = "Too few events for a picture.";
    return;
  }
  const times = history.map((sample) => Date.parse(sample.at));
  const versions = history.map((sample) => Number(sample.change_version));
  const scale = (values, length) => {
    const low = values[0];
    const width = values[values.length - 1] - low || 1;
    return values.map((value) => ((value - low) / width) * length);
  };
  const x = scale(times, 400);
  const y = scale(versions, 76);
  line.setAttribute("points", x.map((place, i) => `${place.toFixed(1)},${(78 - y[i]).toFixed(1)}`).join(" "));
  const first = history[0];
  const end = history[history.length - 1];
  note.textContent =
    `From version ${number(first.change_version)} at ${time(first.at)} to ${number(end.change_version)} at ${time(end.at)}.`;
}

// The tail. EventSource cannot send a token, so the stream is read by hand.
async function follow() {
  const mine = new AbortController(); // who is stopped stays stopped, also where it waits to try again
  stopTail = mine;
  while (!paused && !mine.signal.aborted) {
    at("tail-state").textContent = "";
    try {
      const path = `changefeed/stream?from_seq=${last}&max_seconds=60&versions=string`;
      const answer = await get(path, { signal: mine.signal });
      if (!answer.ok) throw new Error(await problem(answer));
      await take(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      if (mine.signal.aborted || last === null) break;
      at("tail-state").textContent = error.message;
      await new Promise((done) => setTimeout(done, EVERY_MS));
    }
  }
}

async function take(reader) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    frames.forEach(frame);
  }
}

function frame(text) {
  const fields = Object.fromEntries(text.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
  if (fields.id) last = fields.id;
  if (fields.event === "change") tail(JSON.parse(fields.data));
  if (fields.event === "expired" || fields.event === "diverged") {
    last = null; // the next refresh begins anew
    throw new Error(JSON.parse(fields.data).detail);
  }
}

function tail(change) {
  const keys = Object.entries(change.metadata.key_values ?? {}).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const made = row([[number(change.sequence)], change.type, change.key, keys.join(", "), time(change.timestamp_ms)]);
  at("tail").prepend(made);
  while (at("tail").rows.length > KEPT) at("tail").deleteRow(-1);
}

function rows(id, items, none, cells) {
  const made = items.map((item) => row(cells(item)));
  if (!made.length) {
    const empty = cell("td", none);
    empty.colSpan = at(id).parentElement.tHead.rows[0].cells.length;
    made.push(group("tr", empty));
  }
  at(id).replaceChildren(...made);
}

// A cell in a list of its own is a number.
const row = (cells) =>
  group("tr", ...cells.map((value) => (Array.isArray(value) ? cell("td", value[0], "number") : cell("td", value ?? "-"))));

function cell(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function group(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

function age(seconds) {
  for (const [length, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= 2 * length) return `${(seconds / length).toFixed(1)} ${unit}`;
  }
  return `${seconds.toFixed(0)} s`;
}

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return power ? `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}` : `${bytes} B`;
}

const time = (value) => (value === null ? "-" : new Date(value).toISOString().slice(0, 19).replace("T", " ") + "Z");

at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", String(paused));
  at("tail-state").textContent = paused ? "Paused." : "";
  if (paused) stopTail.abort();
  else if (last !== null) follow();
});

at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value;
  sessionStorage.setItem("token", token);
  at("token").value = "";
  at("token-form").hidden = true;
});

refresh();
