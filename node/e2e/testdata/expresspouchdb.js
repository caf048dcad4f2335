// Serves PouchDB over HTTP with express-pouchdb, in the directory of the argument, until standard input ends. Prints
// the port.
const path = require('node:path');
const express = require('express');

const dir = process.argv[2];
process.chdir(dir);
const PouchDB = require('pouchdb').defaults({ prefix: dir + path.sep });
const app = express();
app.use('/', require('express-pouchdb')(PouchDB, { inMemoryConfig: true, logPath: path.join(dir, 'log.txt') }));
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
