// A to-do list in the browser's own database, which syncs with a server whenever there is one.
"use strict";

const local = new PouchDB("todos");
const address = decodeURIComponent(location.search.slice(1)) || "http://127.0.0.1:5984/todos";
const byId = (id) => document.getElementById(id);

// show lists all documents. Those that two people have changed at once, one of them offline, have a conflict: the list
// shows the winner, which is the same everywhere, and beside it the other titles, to take one instead.
async function show() {
  const {rows} = await local.allDocs({include_docs: true, conflicts: true});
  const docs = rows.map((row) => row.doc).sort((a, b) => (a.at || "").localeCompare(b.at || ""));
  for (const doc of docs) {
    doc.others = await Promise.all((doc._conflicts || []).map((rev) => local.get(doc._id, {rev})));
  }
  byId("list").replaceChildren(...docs.map(item));
}

function item(doc) {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = Boolean(doc.done);
  box.onchange = () => save({...doc, done: box.checked});
  const title = document.createElement("input");
  title.type = "text";
  title.value = doc.title;
  title.setAttribute("aria-label", "What is to do?");
  title.onchange = () => save({...doc, title: title.value});
  const li = document.createElement("li");
  li.className = doc.done ? "done" : "";
  li.append(box, title);
  if (doc.others.length) {
    li.append(choice("keep", () => resolve(doc)));
    for (const other of doc.others) {
      const mark = other.done ? " (done)" : "";
      li.append(choice("or: " + other.title + mark, () => resolve(doc, other)));
    }
  }
  return li;
}

function choice(text, take) {
  const button = document.createElement("button");
  button.textContent = text;
  button.onclick = take;
  return button;
}

// resolve ends a conflict: the winner stays, with the content of the other one if that was taken, and the other
// revisions are removed.
async function resolve(doc, taken) {
  if (taken) await save({...doc, title: taken.title, done: taken.done});
  for (const rev of doc._conflicts) await local.remove(doc._id, rev);
}

// save writes a document. A conflict means that a sync has just brought a newer one, which is shown.
async function save(doc) {
  const {_conflicts, others, ...rest} = doc;
  try {
    await local.put(rest);
  } catch (e) {
    if (e.status !== 409) throw e;
  }
}

byId("form").onsubmit = (event) => {
  event.preventDefault();
  const title = byId("title").value.trim();
  if (!title) return;
  byId("title").value = "";
  const at = new Date().toISOString();
  save({_id: at + "-" + Math.random().toString(36).slice(2), title, at, done: false});
};

const synced = () => state("last synced at " + new Date().toLocaleTimeString());
const state = (text) => { byId("state").textContent = text; };
local.changes({live: true, since: "now"}).on("change", show);
local.sync(new PouchDB(address), {live: true, retry: true, back_off_function: (ms) => Math.min(2 * ms || 500, 10000)})
  .on("change", synced)
  .on("paused", (error) => { if (!error) synced(); }) // with an error: offline, and tried again
  .on("denied", () => state("refused: look at the database's _security"))
  .on("error", (error) => state("failed: " + (error.reason || error.message)));
show();
