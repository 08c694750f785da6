// Which views does the engine of the page understand? It may be older than the one that made the
// store, and it has no extensions. Reads {tables: [create, ...], views: [{name, create, instead}]}
// from stdin; writes {engine, views: [name, ...] in an order that works, refused: {name: why}}.
// A refused view becomes a table (`instead`), which others may ask.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {dirname, join} from "node:path";

const require = createRequire(join(process.argv[2], "package.json"));
const blocking = require.resolve("@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs");
const duckdb = require(blocking);
const bundle = {mainModule: join(dirname(blocking), "duckdb-eh.wasm"), mainWorker: ""};

const asked = JSON.parse(readFileSync(0, "utf-8"));
const database = await duckdb.createDuckDB(
  {mvp: bundle, eh: bundle}, new duckdb.VoidLogger(), duckdb.NODE_RUNTIME);
await database.instantiate();
const connection = database.connect();
connection.query("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false");
for (const create of asked.tables) connection.query(create);

const views = [];
const refused = {};
let waiting = asked.views;
while (waiting.length) {
  const errors = new Map();
  for (const view of waiting) {
    try {
      connection.query(view.create);
      views.push(view.name);
    } catch (error) {
      errors.set(view, String(error.message).split("\n")[0]);
    }
  }
  if (errors.size === waiting.length) {
    // All fail: one of them because of itself, the others because they ask it.
    const asks = (view, other) => other !== view && new RegExp(`\\b${other.name}\\b`).test(view.create);
    const first = waiting.find((view) => !waiting.some((other) => asks(view, other))) ?? waiting[0];
    connection.query(first.instead);
    refused[first.name] = errors.get(first);
    errors.delete(first);
  }
  waiting = [...errors.keys()];
}
const engine = connection.query("SELECT version() AS version").get(0).version;
process.stdout.write(JSON.stringify({engine, views, refused}));
