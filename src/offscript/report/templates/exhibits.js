(function () {
  "use strict";
  // Everything that came from a model is set as text, never as markup.
  function element(name, text, kind) {
    var made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }
  function data(place) { return JSON.parse(place.querySelector(":scope > script").textContent); }
  function level(value, full) { return Math.min(Math.max(Number(value) / full, 0), 1) || (value === "inf" ? 1 : 0); }
  function short(value) { return value === "inf" ? "∞" : Number(value).toPrecision(3); }
  function percent(share) { return (100 * share).toFixed(share < 0.1 ? 1 : 0) + " %"; }

  var panel = element("div");
  panel.id = "alternatives"; panel.hidden = true;
  panel.setAttribute("role", "tooltip");
  (document.querySelector("main") || document.body).append(panel);
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") hide(); });
  function hide() {
    panel.hidden = true;
    document.querySelectorAll(".t.here").forEach(function (token) { token.classList.remove("here"); });
  }

  function told(shown, text, place) {
    return shown.measures.map(function (measure) {
      return measure.label + " " + short(text.values[measure.name][place]) + " " + measure.unit;
    });
  }
  function show(shown, text, tokens, place) {
    hide();
    var token = tokens[place];
    token.classList.add("here");
    panel.textContent = "";
    told(shown, text, place).forEach(function (line) { panel.append(element("p", line)); });
    var pair = element("div", undefined, "pair");
    shown.models.forEach(function (name, which) {
      var column = element("div"), list = element("ol");
      column.append(element("strong", name));
      text.alternatives[place][which].forEach(function (word, rank) {
        var line = element("li"), word_ = shown.words[word];
        if (word_.trim() === text.pieces[place].trim()) line.className = "chosen";
        line.append(element("span", word_), element("span", percent(text.probabilities[place][which][rank]), "share"));
        list.append(line);
      });
      column.append(list); pair.append(column);
    });
    panel.append(pair);
    panel.hidden = false;
    var box = token.getBoundingClientRect(), width = panel.offsetWidth;
    panel.style.left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - width - 8)) + window.scrollX + "px";
    panel.style.top = box.bottom + window.scrollY + 34 + "px";
  }

  document.querySelectorAll("[data-exhibit=tokens]").forEach(function (place) {
    var shown = data(place), paragraphs = place.querySelectorAll(".tokens");
    paragraphs.forEach(function (paragraph, which) {
      var tokens = Array.from(paragraph.querySelectorAll(".t")), text = shown.texts[which];
      var slider = paragraph.parentElement.querySelector("input[type=range]");
      function choose(number) {
        slider.value = number + 1;
        slider.setAttribute("aria-valuetext", tokens[number].textContent.trim() + ": " + told(shown, text, number).join(", "));
        show(shown, text, tokens, number);
      }
      slider.setAttribute("aria-valuetext", tokens.length ? tokens[0].textContent.trim() : "");
      paragraph.addEventListener("mouseover", function (event) {
        var number = tokens.indexOf(event.target); if (number >= 0) choose(number);
      });
      paragraph.addEventListener("click", function (event) {
        var number = tokens.indexOf(event.target); if (number >= 0) choose(number);
      });
      paragraph.addEventListener("mouseleave", hide);
      slider.addEventListener("input", function () { choose(slider.value - 1); });
      slider.addEventListener("blur", hide);
      var focus = tokens.findIndex(function (token) { return token.classList.contains("focus"); });
      if (focus > 0) slider.value = focus + 1;
    });
    place.querySelectorAll("input[type=radio]").forEach(function (radio) {
      radio.addEventListener("change", function () {
        var measure = shown.measures[radio.value];
        place.querySelector(".legend-label").textContent = measure.label;
        place.querySelector(".legend-top").textContent = short(measure.scale);
        paragraphs.forEach(function (paragraph, which) {
          paragraph.querySelectorAll(".t").forEach(function (token, number) {
            token.style.setProperty("--v", level(shown.texts[which].values[measure.name][number], measure.scale).toFixed(3));
          });
        });
      });
    });
  });

  function colour(name) {
    // A canvas turns any CSS colour into numbers.
    var dot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    dot.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    dot.fillRect(0, 0, 1, 1);
    return dot.getImageData(0, 0, 1, 1).data;
  }

  document.querySelectorAll("[data-exhibit=map]").forEach(function (place) {
    var shown = data(place), rows = shown.shape[0], columns = shown.shape[1];
    var levels = Uint8Array.from(atob(shown.levels), function (sign) { return sign.charCodeAt(0); });
    var canvas = place.querySelector("canvas"), band = place.querySelector(".band");
    var first = place.querySelector(".first"), count = place.querySelector(".count"), list = place.querySelector(".brushed");
    var drawn = Array.from({ length: rows }, function (_, row) { return row; }), order = drawn.slice();
    var totals = drawn.map(function (row) {
      return levels.subarray(row * columns, (row + 1) * columns).reduce(function (sum, value) { return sum + value; }, 0);
    });
    var orders = {
      drawn: function (a, b) { return a - b; },
      total: function (a, b) { return totals[b] - totals[a] || a - b; },
      bad: function (a, b) { return (shown.starts[a] < 0 ? columns : shown.starts[a]) - (shown.starts[b] < 0 ? columns : shown.starts[b]) || a - b; }
    };
    function paint() {
      var context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
      var paper = colour("--card"), heat = colour("--map"), none = colour("--line");
      order.forEach(function (row, line) {
        for (var column = 0; column < columns; column++) {
          var share = levels[row * columns + column] / 255, at = 4 * (line * columns + column);
          var ended = column >= shown.texts[row].length;
          for (var part = 0; part < 3; part++) image.data[at + part] = ended ? none[part] : paper[part] + share * (heat[part] - paper[part]);
          image.data[at + 3] = 255;
        }
      });
      context.putImageData(image, 0, 0);
    }
    function choose(line, size) {
      line = Math.max(0, Math.min(rows - 1, line));
      size = Math.max(1, Math.min(20, size, rows - line));
      first.value = line + 1; count.value = size;
      band.style.top = 100 * line / rows + "%"; band.style.height = 100 * size / rows + "%";
      list.textContent = "";
      order.slice(line, line + size).forEach(function (row) {
        var entry = element("li"), text = element("p", undefined, "tokens");
        text.dir = "auto";
        var start = shown.starts[row];
        entry.append(element("p", "sample " + (row + 1) + (start < 0 ? ", no bad token" : ", first bad token: " + (start + 1)), "place"));
        shown.texts[row].forEach(function (word, column) {
          var token = element("span", shown.words[word], column === start ? "t focus" : "t");
          token.style.setProperty("--v", (levels[row * columns + column] / 255).toFixed(3));
          text.append(token);
        });
        entry.append(text); list.append(entry);
      });
      first.setAttribute("aria-valuetext", "sample " + (order[line] + 1));
    }
    var began = null;
    function line(event) {
      var box = canvas.getBoundingClientRect();
      return Math.max(0, Math.min(rows - 1, Math.floor(rows * (event.clientY - box.top) / box.height)));
    }
    canvas.addEventListener("pointerdown", function (event) { began = line(event); canvas.setPointerCapture(event.pointerId); choose(began, Number(count.value)); });
    canvas.addEventListener("pointermove", function (event) {
      if (began === null) return;
      var now = line(event);
      if (now !== began) choose(Math.min(began, now), Math.abs(now - began) + 1);
    });
    canvas.addEventListener("pointerup", function () { began = null; });
    first.addEventListener("input", function () { choose(first.value - 1, Number(count.value)); });
    count.addEventListener("change", function () { choose(first.value - 1, Number(count.value) || 1); });
    place.querySelector("select").addEventListener("change", function (event) {
      order = drawn.slice().sort(orders[event.target.value]); paint(); choose(0, Number(count.value));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    matchMedia("print").addEventListener("change", paint);
    paint(); choose(0, 3);
  });
})();
