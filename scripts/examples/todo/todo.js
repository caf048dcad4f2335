// A to-do list in the browser's own database, which syncs with a server whenever there is one.
"use strict";

const local = new PouchDB("todos");
const address = decodeURIComponent(location.search.slice(1)) || "http://127.0.0.1:5984/todos";
const byId = (id) => document.getElementById(id);

// show lists all documents. Those that two people changed at once have a conflict: both have seen the same revision,
// and one of them was offline. The list shows the winner, and a button that keeps it.
async function show() {
  const {rows} = await local.allDocs({include_docs: true, conflicts: true});
  const items = rows.map((row) => row.doc).sort((a, b) => (a.at || "").localeCompare(b.at || ""));
  byId("list").replaceChildren(...items.map(item));
}

function item(doc) {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = Boolean(doc.done);
  box.onchange = () => save({...doc, done: box.checked});
  const title = document.createElement("span");
  title.textContent = " " + doc.title;
  const li = document.createElement("li");
  li.className = doc.done ? "done" : "";
  li.append(box, title);
  if (doc._conflicts) {
    const keep = document.createElement("button");
    keep.textContent = "keep this one";
    keep.onclick = async () => {
      for (const rev of doc._conflicts) await local.remove(doc._id, rev);
    };
    li.append(" ", keep);
  }
  return li;
}

// save writes a document. A conflict means that a sync has just brought a newer one, which is shown.
async function save(doc) {
  const {_conflicts, ...rest} = doc;
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
