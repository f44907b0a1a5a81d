// The SQL console: DuckDB in a worker, which is made from a blob so that it also starts on a page from a folder. All
// that a query returns goes into the page as text, never as markup.
"use strict";

(() => {
  const at = (id) => document.getElementById(id);
  const [form, editor, question, run, stop, csv] = ["asking", "sql", "question", "run", "stop", "csv"].map(at);
  const [status, problem, answer, tables] = ["status", "error", "answer", "tables"].map(at);
  const mostRows = 100_000;
  const mostShown = 1_000;
  const longText = 60;
  const numeric = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL.*|FLOAT|DOUBLE)$/;

  // Put before the worker's own code: it gets the engine from this page in place of fetching it, which a page may not.
  // What DuckDB says of an error is shown in the page, and need not be in the console as well.
  const before = `
    "use strict";
    (() => {
      let give;
      const engine = new Promise((done) => { give = done; });
      self.fetch = async () => new Response(await engine, { headers: { "content-type": "application/wasm" } });
      self.console.log = self.console.error = () => {};
      self.addEventListener("message", (event) => {
        if (event.data?.engine instanceof Blob) {
          event.stopImmediatePropagation();
          give(event.data.engine);
        }
      });
    })();
  `;

  let connection = null;
  let worker = null;
  let result = null;

  // Characters without a shape, as debatebench/shared/visible_text.py shows them; lines and tabs are kept.
  const visible = (text) =>
    text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (character) => {
      const code = character.codePointAt(0);
      if (code === 9 || code === 10) return character;
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
    });

  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = visible(text);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  const say = (words) => {
    status.textContent = words;
  };

  const fail = (words) => {
    problem.textContent = visible(words);
    problem.hidden = !words;
  };

  const listOf = (table) => table.toArray().map((row) => row.toJSON());

  async function begin() {
    say("Loading DuckDB …");
    run.disabled = true;
    const load = (name) => debatebench.load(`console/${name}`, "blob");
    const [engine, code, marts] = await Promise.all(["engine", "worker", "marts"].map(load));
    const address = URL.createObjectURL(new Blob([before, code], { type: "text/javascript" }));
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.postMessage({ engine });
    const database = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
    // The address is never asked for; it only has to be one.
    await database.instantiate("https://engine.invalid/duckdb.wasm");
    await database.registerFileBuffer("debatebench.duckdb", new Uint8Array(await marts.arrayBuffer()));
    await database.open({ path: "debatebench.duckdb", accessMode: duckdb.DuckDBAccessMode.READ_ONLY });
    const opened = await database.connect();
    for (const setting of [
      "autoinstall_known_extensions = false",
      "autoload_known_extensions = false",
      "allow_community_extensions = false",
      "enable_external_access = false",
      "lock_configuration = true",
    ]) {
      await opened.query(`set ${setting}`);
    }
    connection = opened;
    run.disabled = false;
    const [{ version }] = listOf(await opened.query("select version() as version"));
    say(`DuckDB ${version} is ready.`);
  }

  async function showTables() {
    const rows = listOf(
      await connection.query(
        "select schema_name || '.' || table_name as name, string_agg(column_name, ', ' order by column_index) as columns " +
          "from duckdb_columns() where not internal group by all order by all",
      ),
    );
    for (const { name, columns } of rows) {
      const shown = make("dt", "");
      shown.append(make("code", name));
      tables.append(shown, make("dd", columns));
    }
  }

  // Every value as DuckDB writes it, exact, with the type of its column. What cannot stand in brackets is run as it is.
  async function ask(text) {
    let types = null;
    try {
      types = listOf(await connection.query(`describe ${text}`));
    } catch {
      const table = await connection.query(text);
      const names = table.schema.fields.map((field) => field.name);
      const rows = table.toArray().map((row) => names.map((name) => (row[name] === null ? null : String(row[name]))));
      return { names, types: names.map(() => "VARCHAR"), rows };
    }
    const table = await connection.query(
      `select cast(columns(*) as varchar) from (${text}\n) limit ${mostRows + 1}`,
    );
    const columns = types.map((_, number) => table.getChildAt(number));
    const rows = Array.from({ length: table.numRows }, (_, row) => columns.map((column) => column.get(row)));
    return { names: types.map((type) => type.column_name), types: types.map((type) => type.column_type), rows };
  }

  function show({ names, types, rows }) {
    const table = make("table", "");
    table.append(make("caption", "The answer"));
    const head = table.createTHead().insertRow();
    for (const [number, name] of names.entries()) {
      head.append(make("th", name, { scope: "col", ...(numeric.test(types[number]) ? { class: "n" } : {}) }));
    }
    const body = table.createTBody();
    for (const row of rows.slice(0, mostShown)) {
      const line = body.insertRow();
      for (const [number, value] of row.entries()) {
        const cell = make("td", value ?? "null", numeric.test(types[number]) ? { class: "n" } : {});
        if (value === null) cell.classList.add("null");
        else if (value.length > longText) cell.classList.add("long");
        line.append(cell);
      }
    }
    const box = make("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The answer" });
    box.append(table);
    answer.replaceChildren(box);
  }

  async function runQuery() {
    if (run.disabled) return;
    const text = editor.value.trim().replace(/[;\s]+$/, "");
    if (!text) return;
    fail("");
    run.disabled = true;
    stop.hidden = false;
    say("Running …");
    const used = worker;
    try {
      const started = performance.now();
      result = await ask(text);
      const took = performance.now() - started;
      const more = result.rows.length > mostRows;
      result.rows.length = Math.min(result.rows.length, mostRows);
      show(result);
      const count = result.rows.length.toLocaleString("en");
      const shown = result.rows.length > mostShown ? `, of which the first ${mostShown.toLocaleString("en")} are shown` : "";
      say(`${more ? `The first ${count}` : count} ${result.rows.length === 1 ? "row" : "rows"}${shown}, in ${took.toFixed(0)} ms.`);
      history.replaceState(null, "", `#sql=${encodeURIComponent(editor.value)}`);
    } catch (error) {
      if (used !== worker) return;
      result = null;
      answer.replaceChildren();
      fail(String(error.message ?? error));
      say("The query failed.");
    }
    csv.disabled = !result;
    stop.hidden = true;
    run.disabled = false;
  }

  // A query cannot be interrupted, so its worker ends, and another one begins.
  async function stopQuery() {
    worker.terminate();
    worker = null;
    stop.hidden = true;
    await begin();
    say("The query was stopped.");
  }

  // A text that a spreadsheet would take for a formula begins with an apostrophe; numbers stay numbers.
  function cellOf(value, type) {
    if (value === null) return "";
    const text = !numeric.test(type) && /^[\s]*[=+\-@]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function download() {
    const lines = [result.names.map((name) => cellOf(name, "VARCHAR"))];
    for (const row of result.rows) lines.push(row.map((value, number) => cellOf(value, result.types[number])));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => `${line.join(",")}\r\n`).join("")], { type: "text/csv" }));
    link.download = "answer.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  async function offerQuestions() {
    const offered = await debatebench.unpacked(at("questions").textContent);
    const groups = new Map();
    for (const [number, each] of offered.entries()) {
      if (!groups.has(each.subject)) {
        groups.set(each.subject, make("optgroup", "", { label: visible(each.subject.replaceAll("_", " ")) }));
      }
      groups.get(each.subject).append(make("option", each.question, { value: String(number) }));
    }
    question.append(...groups.values());
    const take = () => {
      editor.value = offered[Number(question.value)]?.sql ?? "";
    };
    question.addEventListener("change", take);
    take();
    // A link may bring a query. It waits until a reader runs it.
    const given = new URLSearchParams(location.hash.slice(1)).get("sql");
    if (given) editor.value = given;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    runQuery();
  });
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      runQuery();
    }
  });
  const told = (error) => {
    say("DuckDB could not be started.");
    fail(String(error.message ?? error));
  };
  stop.addEventListener("click", () => stopQuery().catch(told));
  csv.addEventListener("click", download);
  offerQuestions().then(begin).then(showTables).catch(told);
})();
