// The views, each a function of a place, what to say, and the rest of the address. It returns a function that ends it.
import { overview } from './overview.js';
import { nodes } from './nodes.js';
import { databases } from './databases.js';
import { feeds, indexes, jobs, actors, sql } from './lists.js';
import { events } from './events.js';

/** The views by the first part of the address, in the order of the navigation. */
export const views = {
  '': ['Overview', overview], nodes: ['Nodes', nodes], databases: ['Databases', databases], feeds: ['Feeds', feeds],
  indexes: ['Indexes', indexes], jobs: ['Jobs', jobs], actors: ['Actors', actors], sql: ['SQL', sql], events: ['Events', events],
};
