// Draws a profile: the roofline plot (Williams, Waterman and Patterson, "Roofline", 2009) with one
// dot per launch, and a bar for each launch's estimated time.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/profile.h"

namespace mcc::tools {

namespace {

constexpr double kWidth = 900, kHeight = 420, kLeft = 70, kBottom = 50, kTop = 20, kRight = 20;
constexpr double kLeastIntensity = 1e-2, kMostIntensity = 1e4;  // flops per byte
constexpr double kLeastRate = 1e-3;                             // TFLOP/s

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

template <class... Values>
std::string print(const char* format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Axes in powers of ten.
class Plot {
 public:
  explicit Plot(const sim::Gpu& gpu)
      : most_rate_(std::pow(
            10, std::ceil(std::log10(std::max(gpu.fp32_tflops, gpu.tensor_f16_tflops))))) {}
  double x(double intensity) const {
    const double share =
        std::log10(intensity / kLeastIntensity) / std::log10(kMostIntensity / kLeastIntensity);
    return kLeft + std::clamp(share, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  double y(double rate) const {
    const double share =
        std::log10(std::max(rate, kLeastRate) / kLeastRate) / std::log10(most_rate_ / kLeastRate);
    return kHeight - kBottom - std::clamp(share, 0.0, 1.0) * (kHeight - kBottom - kTop);
  }
  std::string grid() const {
    std::string svg;
    for (double v = kLeastIntensity; v <= kMostIntensity * 1.01; v *= 10) {
      svg += print("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x(v),
                   x(v), kTop, kHeight - kBottom);
      svg += print("<text text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%g</text>", x(v),
                   kHeight - kBottom + 16, v);
    }
    for (double v = kLeastRate; v <= most_rate_ * 1.01; v *= 10) {
      svg += print("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", kLeft,
                   kWidth - kRight, y(v), y(v));
      svg += print("<text text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%g</text>", kLeft - 6, y(v) + 4,
                   v);
    }
    svg += print(
        "<text text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">flops per byte of memory "
        "traffic</text>",
        kWidth / 2, kHeight - 12);
    svg += print(
        "<text transform=\"rotate(-90)\" text-anchor=\"middle\" x=\"%.1f\" y=\"16\">TFLOP/s</text>",
        -kHeight / 2);
    return svg;
  }
  // The slope of the memory's bandwidth up to `peak`, then flat.
  std::string roof(const sim::Gpu& gpu, double peak, const char* name) const {
    const double bandwidth = gpu.memory_gb_s * 1e-3;  // TB/s
    const double ridge = peak / bandwidth;
    std::string svg = print("<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>",
                            x(kLeastIntensity), y(kLeastIntensity * bandwidth), x(ridge), y(peak),
                            x(kMostIntensity), y(peak));
    svg += print("<text text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%s %g TFLOP/s</text>",
                 kWidth - kRight - 4, y(peak) - 5, name, peak);
    return svg;
  }

 private:
  double most_rate_;
};

std::string label(const Json& launch) {
  std::string text = launch["kernel"].get<std::string>() + " " + launch["class"].get<std::string>();
  for (const Json& node : launch["origin"]) text += " " + node.get<std::string>();
  return text;
}

double flops_of(const Json& launch) {
  double sum = 0;
  for (const auto& kind : launch["counters"]["flops"].items()) sum += kind.value().get<double>();
  return sum;
}

std::string roofline_svg(const Json& report, const sim::Gpu& gpu) {
  const Plot plot(gpu);
  std::string svg = print("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"roofline plot\">",
                          kWidth, kHeight);
  svg += plot.grid() + plot.roof(gpu, gpu.fp32_tflops, "fp32") +
         plot.roof(gpu, gpu.tensor_f16_tflops, "tensor f16");
  for (const Json& launch : report["launches"]) {
    const double flops = flops_of(launch);
    if (flops <= 0) continue;  // copies have no place in this plot
    const double intensity = launch["estimate"]["flops_per_byte"].get<double>();
    const double rate = flops / launch["estimate"]["total_us"].get<double>() * 1e-6;
    svg += print("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                 plot.x(std::max(intensity, kLeastIntensity)), plot.y(rate)) +
           escaped(label(launch)) +
           print(": %.3g TFLOP/s, %.3g flops per byte</title></circle>", rate, intensity);
  }
  return svg + "</svg>\n";
}

std::string bars(const Json& report) {
  double longest = 1e-9;
  for (const Json& launch : report["launches"]) {
    longest = std::max(longest, launch["estimate"]["total_us"].get<double>());
  }
  std::string html =
      "<table><tr><th>launch</th><th>estimated µs</th><th></th><th>bound by</th><th>coalescing</th>"
      "<th>bank conflicts</th><th>occupancy</th></tr>\n";
  for (const Json& launch : report["launches"]) {
    const double time = launch["estimate"]["total_us"].get<double>();
    html +=
        "<tr><td>" + escaped(label(launch)) + print("</td><td class=\"number\">%.2f</td>", time);
    html += print("<td class=\"bar\"><div style=\"width:%.1f%%\"></div></td><td>",
                  100 * time / longest);
    html += escaped(launch["estimate"]["bound"].get<std::string>()) + "</td>";
    html += print(
        "<td class=\"number\">%.2f</td><td class=\"number\">%lld</td><td "
        "class=\"number\">%.2f</td></tr>\n",
        launch["counters"]["global"]["coalescing"].get<double>(),
        static_cast<long long>(launch["counters"]["shared"]["bank_conflicts"].get<int64_t>()),
        launch["occupancy"]["fraction"].get<double>());
  }
  return html + "</table>\n";
}

constexpr const char* kStyle =
    "body{font:14px sans-serif;margin:2em auto;max-width:1100px;color:#222}"
    "svg{width:100%;background:#fff}svg text{font-size:11px;fill:#444}"
    ".grid{stroke:#e4e4e4}.roof{fill:none;stroke:#b03030;stroke-width:1.5}circle{fill:#2060b0;fill-"
    "opacity:.6}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:2px "
    "8px;border-bottom:1px solid #eee}"
    "td:first-child{max-width:22em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
    ".number{text-align:right}.bar{width:30%}.bar div{background:#2060b0;height:10px}";

}  // namespace

std::string profile_html(const Json& report, const sim::Gpu& gpu) {
  const std::string title = "Profile of " + escaped(report["model"].get<std::string>()) + " on " +
                            escaped(std::string(gpu.name));
  std::string html = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                     title + "</title><style>" + kStyle + "</style></head><body>\n<h1>" + title +
                     "</h1>\n";
  html +=
      print("<p>%lld launches, estimated %.1f µs. ", report["totals"]["launches"].get<long long>(),
            report["totals"]["estimated_us"].get<double>());
  html += "Estimates are lower bounds from counted work and peak rates (" +
          escaped(std::string(gpu.source)) + "), not measurements.</p>\n";
  return html + roofline_svg(report, gpu) + bars(report) + "</body></html>\n";
}

}  // namespace mcc::tools
