(function () {
  "use strict";
  function button(text, label, act) {
    var made = document.createElement("button");
    made.type = "button"; made.textContent = text; made.className = "small";
    made.setAttribute("aria-label", label);
    made.addEventListener("click", function () { act(made); });
    return made;
  }
  function copied(made, done) {
    var before = made.textContent;
    made.textContent = done ? "copied" : "not copied";
    setTimeout(function () { made.textContent = before; }, 1500);
  }
  function fallback(text) {
    var field = document.createElement("textarea");
    field.value = text; field.setAttribute("aria-hidden", "true");
    document.body.append(field); field.select();
    var done = document.execCommand("copy");
    field.remove();
    return done;
  }
  function copy(text, made) {
    if (!navigator.clipboard) { copied(made, fallback(text)); return; }
    navigator.clipboard.writeText(text).then(function () { copied(made, true); }, function () { copied(made, fallback(text)); });
  }
  function download(name, kind, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name; link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  function csv(rows) {
    if (!rows.length) return "";
    var names = Array.from(new Set(rows.flatMap(Object.keys)));
    function cell(value) {
      var text = value === null || value === undefined ? "" : String(value);
      if (/^[=+@\t\r]/.test(text) || (/^-/.test(text) && isNaN(text))) text = "'" + text;  // no formulas in spreadsheets
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    }
    return [names].concat(rows.map(function (row) { return names.map(function (name) { return row[name]; }); }))
      .map(function (line) { return line.map(cell).join(","); }).join("\n") + "\n";
  }
  function plain(title) { return title.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart"; }

  document.querySelectorAll("pre.command").forEach(function (place) {
    place.before(button("copy", "Copy the command", function (made) { copy(place.textContent, made); }));
  });
  document.querySelectorAll("tr[data-signature]").forEach(function (row) {
    row.lastElementChild.append(" ", button("copy", "Copy " + row.dataset.signature.split(" ")[0] + " with its signature", function (made) { copy(row.dataset.signature, made); }));
  });
  document.querySelectorAll("figure").forEach(function (figure) {
    var chart = figure.querySelector(".chart"), title = figure.querySelector("figcaption").textContent;
    if (!chart) return;
    var tools = document.createElement("p");
    tools.className = "tools";
    tools.append(
      button("SVG", "Download as SVG: " + title, function () {
        var drawing = chart.querySelector("svg");
        if (!drawing) return;
        var text = new XMLSerializer().serializeToString(drawing), style = getComputedStyle(document.documentElement);
        text = text.replace(/var\((--[a-z]+)\)/g, function (_, name) { return style.getPropertyValue(name).trim(); });
        download(plain(title) + ".svg", "image/svg+xml", text);
      }),
      " ",
      button("CSV", "Download as CSV: " + title, function () {
        var spec = JSON.parse(figure.querySelector("script").textContent);
        download(plain(title) + ".csv", "text/csv", csv((spec.data && spec.data.values) || []));
      })
    );
    figure.append(tools);
  });
  var figures = document.getElementById("figures"), results = document.getElementById("results");
  if (figures && results) {
    var rows = JSON.parse(figures.textContent);
    results.append(
      button("CSV", "Download all figures as CSV", function () { download("figures.csv", "text/csv", csv(rows)); }), " ",
      button("JSON", "Download all figures as JSON", function () { download("figures.json", "application/json", JSON.stringify(rows, null, 2)); })
    );
    results.hidden = false;
  }

  document.querySelectorAll(".choices").forEach(function (place) {
    var shown = place.querySelectorAll("figure");
    place.querySelectorAll("input[type=radio]").forEach(function (radio, which) {
      radio.addEventListener("change", function () {
        shown.forEach(function (figure, number) { figure.classList.toggle("chosen", number === which); });
      });
    });
  });

  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("th").forEach(function (heading, column) {
      var sort = button(heading.textContent, "Sort by " + heading.textContent, function () {
        var rising = heading.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
        table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
        Array.from(body.rows).sort(function (a, b) {
          var first = a.cells[column].dataset.value, second = b.cells[column].dataset.value;
          var order = first !== undefined && second !== undefined ? first - second : a.cells[column].textContent.localeCompare(b.cells[column].textContent);
          return rising ? order : -order;
        }).forEach(function (row) { body.append(row); });
      });
      heading.textContent = ""; heading.append(sort);
    });
  });

  var glossary = document.getElementById("glossary");
  if (glossary) {
    document.addEventListener("keydown", function (event) {
      if (event.key === "?" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { glossary.open ? glossary.close() : glossary.showModal(); }
    });
    document.querySelectorAll("[data-glossary]").forEach(function (made) {
      made.hidden = false;
      made.addEventListener("click", function () { glossary.showModal(); });
    });
    glossary.querySelector("button").addEventListener("click", function () { glossary.close(); });
  }

  var menu = document.querySelector("nav details"), wide = matchMedia("(min-width: 82rem)");
  if (menu) {
    var unfold = function () { menu.open = wide.matches; };
    wide.addEventListener("change", unfold); unfold();
    var links = new Map(Array.from(menu.querySelectorAll("a")).map(function (link) { return [link.getAttribute("href").slice(1), link]; }));
    var watch = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        var link = links.get(entry.target.id);
        if (!link || !entry.isIntersecting) return;
        links.forEach(function (other) { other.removeAttribute("aria-current"); });
        link.setAttribute("aria-current", "true");
      });
    }, { rootMargin: "-10% 0px -80% 0px" });
    document.querySelectorAll("main > section[id]").forEach(function (section) { watch.observe(section); });
  }
  function unfoldTarget() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var around = target && target.closest("details");
    if (around) { around.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", unfoldTarget);
  unfoldTarget();
})();
