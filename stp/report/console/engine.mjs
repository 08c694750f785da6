// DuckDB in the page. Its build for browsers reads Parquet only by an extension from the network,
// so parquet-wasm reads and writes Parquet here, and Arrow goes between the two.
import * as duckdb from "@duckdb/duckdb-wasm";
import {tableToIPC, Table, Type} from "apache-arrow";
import initParquet, * as parquet from "parquet-wasm";

const here = (name) => new URL(name, document.baseURI).href;

async function bytes(name) {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

let opened = null;

/** The engine with the store, of which a page has one; `said` is told what is being done. */
export function open(said) {
  opened ??= start(said);
  return opened;
}

async function start(said) {
  said("Loading the engine …");
  const store = JSON.parse(new TextDecoder().decode(await bytes("data/store.json")));
  // A worker of a blob has the page's content security policy: it reaches no other host.
  const script = `importScripts(${JSON.stringify(here("duckdb-browser-eh.worker.js"))});`;
  const url = URL.createObjectURL(new Blob([script], {type: "text/javascript"}));
  const worker = new Worker(url);
  const database = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
  await Promise.all([
    database.instantiate(here("duckdb-eh.wasm")),
    initParquet({module_or_path: here("parquet_wasm_bg.wasm")}),
  ]);
  URL.revokeObjectURL(url);
  await database.open({});
  const connection = await database.connect();
  await connection.query(store.setup.join(";\n"));

  const loaded = new Set();
  async function load(relation) {
    if (loaded.has(relation.name)) return;
    said(`Loading ${relation.name} …`);
    const table = parquet.readParquet(await bytes(`data/${relation.file}`));
    await connection.insertArrowFromIPCStream(table.intoIPCStream(), {name: relation.name, create: false});
    loaded.add(relation.name);
  }
  const files = store.relations.filter((relation) => relation.file);
  for (const relation of files) {
    if (!relation.when_asked) await load(relation);
  }

  /** Ask; {table, columns}. Large tables are loaded when a statement first names them, or a view
   * that asks them. */
  async function ask(sql) {
    for (const relation of files) {
      const names = [relation.name, ...(relation.asked_by ?? [])].join("|");
      if (new RegExp(`\\b(${names})\\b`, "i").test(sql)) await load(relation);
    }
    const table = await fetched(sql);
    const found = columns(table);
    const odd = found.filter(({values}) => !values);
    if (!odd.length) return {table, columns: found};
    // What has no JavaScript value, such as an interval, is asked for as text.
    const named = (name) => `"${name.replaceAll('"', '""')}"`;
    const casts = odd.map(({name}) => `CAST(${named(name)} AS VARCHAR) AS ${named(name)}`);
    const inner = sql.trim().replace(/;\s*$/, "");
    const texts = await fetched(`SELECT * REPLACE (${casts.join(", ")}) FROM (${inner}\n)`);
    return {table: texts, columns: columns(texts)};
  }

  async function fetched(sql) {
    const reader = await connection.send(sql, true);
    const batches = [];
    for await (const batch of reader) batches.push(batch);
    return new Table(reader.schema, batches);
  }

  const stop = () => connection.cancelSent();
  return {store, ask, stop};
}

function readable(type) {
  switch (type.typeId) {
    case Type.Null: case Type.Int: case Type.Float: case Type.Decimal: case Type.Bool:
    case Type.Utf8: case Type.LargeUtf8: case Type.Date: case Type.Timestamp:
      return true;
    case Type.Dictionary:
      return readable(type.dictionary);
    case Type.List:
      return readable(type.children[0].type);
    default:
      return false;
  }
}

/** By columns: {name, numeric, values}; values are null where JavaScript has none of their kind. */
function columns(table) {
  return table.schema.fields.map(({name, type}, index) => ({
    name,
    numeric: [Type.Int, Type.Float, Type.Decimal].includes(type.typeId),
    values: readable(type) ? converted(table.getChildAt(index), type) : null,
  }));
}

function converted(column, type) {
  try {
    return Array.from(column, (raw) => value(raw, type));
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return null; // an infinite time
    throw error;
  }
}

function value(raw, type) {
  if (raw === null || raw === undefined) return null;
  switch (type.typeId) {
    case Type.Int: return typeof raw === "bigint" ? short(raw) : raw;
    case Type.Decimal: {
      const whole = signed(raw);
      return type.scale ? Number(whole) / 10 ** type.scale : short(whole);
    }
    case Type.Date: return new Date(raw).toISOString().slice(0, 10);
    case Type.Timestamp: return time(raw) + (type.timezone ? "+00" : "");
    case Type.Dictionary: return value(raw, type.dictionary);
    case Type.List: return Array.from(raw, (one) => value(one, type.children[0].type));
    default: return typeof raw === "object" ? String(raw) : raw;
  }
}

/** Milliseconds since 1970, with microseconds behind the point, as DuckDB writes a timestamp. */
function time(milliseconds) {
  const whole = Math.round(milliseconds * 1000);
  const seconds = new Date(Math.floor(whole / 1e6) * 1000);
  const fraction = String(((whole % 1e6) + 1e6) % 1e6).padStart(6, "0").replace(/0+$/, "");
  return seconds.toISOString().slice(0, 19).replace("T", " ") + (fraction ? `.${fraction}` : "");
}

const short = (whole) => (Number.isSafeInteger(Number(whole)) ? Number(whole) : whole);

/** 128 bits in words of 32, the lowest first. */
function signed(words) {
  const whole = words.reduceRight((above, word) => (above << 32n) | BigInt(word >>> 0), 0n);
  return BigInt.asIntN(128, whole);
}

/** An Arrow table as the bytes of a Parquet file. */
export function parquetOf(table) {
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(parquet.Compression.ZSTD).build();
  return parquet.writeParquet(parquet.Table.fromIPCStream(tableToIPC(table, "stream")), properties);
}
