"use strict";
// SQL: the way to the console, a folder beside this page (stp report-sql), if there is one.
(() => {
  const {h} = stp;

  /** Is the console there? Its icon tells, from a disk as well; asked only when somebody wants it. */
  function there() {
    return new Promise((resolve) => {
      const icon = new Image();
      icon.onload = () => resolve(true);
      icon.onerror = () => resolve(false);
      icon.src = "sql/icon.svg";
    });
  }

  const page = () => `results/${stp.scaleOf()}/report/sql/index.html`;

  async function go(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (await there()) {
      location.href = event.target.href;
      return;
    }
    stp.dialog("The console is not there yet",
      h("p", {}, "Make it where this report was made; it needs npm, and its registry once:"),
      stp.code(stp.maker(stp.scaleOf(), page()), "the command"));
  }

  stp.section({
    id: "sql",
    title: "SQL",
    about: "Ask the results store itself, in the browser: all of its tables and views.",
    draw(root) {
      root.append(
        h("p", {}, h("a", {href: "sql/index.html", onclick: go}, "Open the SQL console"),
          ". It is a folder beside this page, and has to be made (with npm):"),
        stp.code(stp.maker(stp.scaleOf(), page()), "the command"),
        h("p", {}, "A browser starts it only from a web server, such as Python's own. Serve the folder "
          + "of this page, and open http://127.0.0.1:8000/#sql:"),
        stp.code(`python -m http.server --bind 127.0.0.1 --directory results/${stp.scaleOf()}/report 8000`, "the command"),
        h("p", {}, "In a terminal, the same questions are asked so:"),
        stp.code(`stp query "FROM leaderboard LIMIT 5" ${stp.asking(stp.scaleOf())}`, "the command"));
    },
  });
})();
