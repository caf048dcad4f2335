// The views, each a function of a place, what to say, and the rest of the address. It returns a function that ends it.
import { overview } from './overview.js';
import { nodes } from './nodes.js';
import { databases } from './databases.js';
import { query } from './query.js';
import { feeds, indexes, jobs, replications, sessions } from './lists.js';
import { actors } from './actors.js';
import { storage, scripts, settings } from './resources.js';
import { plots } from './plots.js';
import { events } from './events.js';

/** The views by the first part of the address, in the order of the navigation. */
export const views = {
  '': ['Overview', overview],
  databases: ['Databases', databases],
  sql: ['SQL', query],
  nodes: ['Nodes', nodes],
  feeds: ['Feeds', feeds],
  indexes: ['Indexes', indexes],
  jobs: ['Jobs', jobs],
  replications: ['Replications', replications],
  actors: ['Actors', actors],
  sessions: ['Sessions', sessions],
  storage: ['Storage', storage],
  javascript: ['JavaScript', scripts],
  plots: ['Plots', plots],
  events: ['Events', events],
  settings: ['Settings', settings],
};
