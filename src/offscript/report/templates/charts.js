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
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12 },
    rule: { color: ink },
    rect: { color: ink },
    text: { color: ink },
    range: { category: ["#3b7dd8", "#d9622b", "#2b9c6b", "#9a5bd0", "#c2a21c", "#c8477f"] }
  };
  document.querySelectorAll(".chart").forEach(function (place) {
    var spec = JSON.parse(place.parentElement.querySelector("script").textContent);
    vegaEmbed(place, spec, { actions: false, renderer: "svg", config: theme });
  });
})();
