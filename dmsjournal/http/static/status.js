// The status page: figures every two seconds, and a live tail of changes. Text from the database is only ever set as text.
"use strict";

const EVERY_MS = 2000;
const KEPT = 50; // changes in the tail
const at = (id) => document.getElementById(id);
const LIMITS = { lag: 60, hold: 600, consumer: 3600, parts: 3 }; // seconds, days: those of the alerts that the documentation gives
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
    if (answer.status === 401) ask(true);
    else at("other-token").hidden = !token || !at("token-form").hidden;
    document.body.classList.toggle("limited", answer.status === 403);
    at("limited").hidden = answer.status !== 403;
    if (answer.ok) {
      begin(show(await answer.json()));
    } else if (answer.status === 403) {
      await showLimited(await problem(answer));
    } else {
      complain([]);
      say(await problem(answer), true);
    }
  } catch {
    say("The service does not answer.", true);
  }
  setTimeout(refresh, EVERY_MS);
}

// The tail goes on from the newest version.
function begin(newest) {
  if (last === null) {
    last = newest;
    follow();
  }
}

function ask(wanted) {
  at("token-form").hidden = !wanted;
  at("other-token").hidden = wanted || !token;
}

// A token of some resources: the versions, which it may see, and the live changes of its resources.
async function showLimited(why) {
  at("limited-why").textContent = `${why[0].toUpperCase()}${why.slice(1)}.`;
  const answer = await get("changeQueries/v1/availableChangeVersions");
  complain([]);
  if (!answer.ok) {
    say(await problem(answer), true);
    return;
  }
  const text = await answer.text(); // numbers of 64 bits: not for JSON.parse
  const [oldest, newest] = ["oldest", "newest"].map((name) => text.match(new RegExp(`"${name}ChangeVersion":(\\d+)`))[1]);
  facts([["newest", "newest", number(newest)], ["oldest", "oldest", number(oldest)]]);
  say("This token may read some resources.");
  begin(newest);
}

// What is beyond a limit, once more as sentences: a colour in a table is not seen from its end.
function complain(problems) {
  at("problems").replaceChildren(...problems.map((text) => cell("li", text)));
  at("problems").hidden = !problems.length;
}

function facts(found) {
  at("horizon").replaceChildren(
    ...found.map(([name, key, value, bad = false]) => group("div", group("dt", word(name, key)), cell("dd", value, bad ? "bad" : ""))),
  );
}

function show(found) {
  at("database").textContent = found.database;
  const problems = [];
  const isBad = (bad, text) => {
    if (bad) problems.push(text);
    return bad;
  };
  const late = isBad(found.lag_seconds >= LIMITS.lag, `Readers are ${age(found.lag_seconds)} behind: see who holds the horizon.`);
  const off = found.triggers.filter((of) => of.state === "disabled" || of.state === "missing");
  const enabled = found.triggers.filter((of) => of.state === "enabled").length;
  const parts = found.partitions;
  const full = parts ? parts.overflowing : [];
  const few = parts !== null && (full.length > 0 || (parts.days_left !== null && parts.days_left < LIMITS.parts));
  isBad(off.length > 0, `Not enabled: ${off.map((of) => `${of.name} on dms.${of.table}`).join(", ")}. Run dmsjournal verify.`);
  isBad(few, full.length ? `The default part of ${full.join(", ")} holds events. Run dmsjournal partitions ensure.`
    : "The parts of the journals end soon. Run dmsjournal partitions ensure.");
  facts([
    ["newest", "newest", number(found.newest)],
    ["oldest", "oldest", number(found.oldest)],
    ["last stamp", "stamp", number(found.last_stamp)],
    ["versions behind", "lag", number(found.lag_versions), late],
    ["behind for", "lag-for", age(found.lag_seconds), late],
    ["triggers", "triggers", `${enabled} of ${found.triggers.length}`, off.length > 0],
    ...(parts ? [["parts last for", "parts", parts.days_left === null ? "?" : `${parts.days_left.toFixed(1)} d`, few]] : []),
    ["database", "database", found.database_bytes === null ? "?" : size(found.database_bytes)],
  ]);
  grow(found.history);
  rows("consumers", found.consumers, "None is registered.", (of) => {
    const behind = of.lag_seconds > LIMITS.consumer;
    isBad(of.is_expired, `Consumer ${of.name} is expired: it must read in full.`);
    isBad(behind && !of.is_expired, `Consumer ${of.name} is ${age(of.lag_seconds)} behind: see whether it runs.`);
    const bad = behind || of.is_expired;
    return [
      of.name, [number(of.lag_versions), bad], [age(of.lag_seconds), bad], { text: of.is_expired ? "expired" : "current", bad: of.is_expired },
      [number(of.change_version)], time(of.updated_at),
    ];
  });
  rows("holders", found.holders, "None.", (of) => {
    const who = of.prepared === null ? `session ${of.pid}` : `prepared ${of.prepared}`;
    const long = of.transaction_seconds !== null && of.transaction_seconds > LIMITS.hold;
    isBad(long, `${who[0].toUpperCase()}${who.slice(1)} has been open for ${age(of.transaction_seconds ?? 0)}, and holds the horizon.`);
    return [
      who, [of.transaction_seconds === null ? "?" : age(of.transaction_seconds), long], [number(of.floor)], of.user, of.application,
      of.client, of.state,
    ];
  });
  rows("journals", found.journals, "None.", (of) => [
    of.name, [number(of.rows)], [size(of.bytes)], [number(of.rows_last_hour)], [number(of.rows_last_day)], [number(of.floor)],
    time(of.pruned_at),
  ]);
  complain(problems);
  say(problems.length ? `${problems.length} to look at.` : "Up to date.", problems.length > 0);
  return found.newest;
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
      const path = `changefeed/stream?from_seq=${last}&max_seconds=60&versions=string&keys=uuid`;
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
  if (fields.event === undefined && fields.data) tail(JSON.parse(fields.data));
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

// A cell in a list of its own is a number. The second element of that, or `bad` of an object, says whether it is beyond a limit.
const row = (cells) => group("tr", ...cells.map(made));

function made(value) {
  if (Array.isArray(value)) return cell("td", value[0], value[1] ? "number bad" : "number");
  return value?.text === undefined ? cell("td", value ?? "-") : cell("td", value.text, value.bad ? "bad" : "");
}

// A word with what it means: as a title, and as a link to where all of them are.
function word(text, key) {
  const link = cell("a", text, "word");
  link.href = `#word-${key}`;
  link.title = at(`word-${key}`).querySelector("dd").textContent;
  return link;
}

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
  ask(false);
  stopTail.abort(); // what the other token saw goes
  last = null;
  at("tail").replaceChildren();
  say("Loading…");
});

at("other-token").addEventListener("click", () => {
  ask(true);
  at("token").focus();
});

for (const head of document.querySelectorAll("th[data-word]")) head.replaceChildren(word(head.textContent, head.dataset.word));

refresh();
