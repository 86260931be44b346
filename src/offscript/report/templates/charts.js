(function () {
  "use strict";
  // Colours are the page's own properties, so that dark mode and print change them without drawing again.
  var ink = "var(--ink)", line = "var(--line)";
  var theme = {
    background: null,
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: { labelColor: ink, titleColor: ink, domainColor: line, tickColor: line, gridColor: line,
            labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 },
    axisX: { labelFlush: false },  // labels moved inwards at both ends would overlap their neighbours
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12 },
    rule: { color: ink },
    rect: { color: ink },
    text: { color: ink },
    range: { category: ["#3b7dd8", "#d9622b", "#2b9c6b", "#9a5bd0", "#c2a21c", "#c8477f"] }
  };
  // One chart per task, so that the page is shown and answers before all are drawn; printing waits for the rest.
  var waiting = Array.from(document.querySelectorAll(".chart"));
  function draw(place) {
    var spec = JSON.parse(place.parentElement.querySelector("script").textContent);
    return vegaEmbed(place, spec, { actions: false, renderer: "svg", config: theme }).then(function () {
      place.querySelector("svg").setAttribute("aria-hidden", "true");  // the place itself is an image with a name
    });
  }
  function next() {
    if (!waiting.length) return;
    draw(waiting.shift());
    setTimeout(next, 0);
  }
  window.addEventListener("beforeprint", function () { load(); while (waiting.length) draw(waiting.shift()); });
  // The library is text until the page has been shown: compiling it first would hold up the first paint.
  function load() {
    if (window.vegaEmbed) return;
    var script = document.createElement("script");
    script.textContent = document.getElementById("vega").textContent;
    document.head.append(script);
  }
  requestAnimationFrame(function () { setTimeout(function () { load(); next(); }, 0); });
})();
