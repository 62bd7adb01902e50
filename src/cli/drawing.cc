#include "cli/drawing.h"

#include <algorithm>
#include <deque>
#include <map>
#include <variant>

#include "graph/compiled_graph.h"

namespace agent_graph::cli {
namespace {

constexpr size_t kNoRow = SIZE_MAX;

std::string ToolList(const graph::ToolNode& node) {
  std::string list;
  const auto add = [&list](const std::string& name) {
    if (!list.empty()) list += ", ";
    list += name;
  };
  for (const Tool& tool : node.tools) add(tool.name);
  for (const HttpTool& tool : node.http_tools) add(tool.name);
  for (const McpServer& server : node.mcp_servers) add(server.name + " (MCP)");
  for (const RemoteTool& tool : node.remote_tools) add(tool.name + " (client)");
  return list;
}

struct Describe {
  DrawnNode& drawn;

  void operator()(const graph::FunctionNode&) const { drawn.kind = "function"; }
  void operator()(const Agent& agent) const {
    drawn.kind = "agent";
    drawn.detail = agent.model;
  }
  void operator()(const graph::ToolNode& tools) const {
    drawn.kind = "tools";
    drawn.detail = ToolList(tools);
  }
  void operator()(const LiveAgent& agent) const {
    drawn.kind = "live agent";
    drawn.detail = agent.model;
  }
  void operator()(const graph::Subgraph&) const { drawn.kind = "graph"; }
};

// Sets each node's distance from START; END is below all others.
void SetRows(DrawnGraph& graph) {
  for (DrawnNode& node : graph.nodes) node.row = kNoRow;
  graph.nodes.front().row = 0;
  std::deque<size_t> reached = {0};
  size_t last_row = 0;
  while (!reached.empty()) {
    const size_t from = reached.front();
    reached.pop_front();
    for (const DrawnEdge& edge : graph.edges) {
      if (edge.from != from || graph.nodes[edge.to].row != kNoRow) continue;
      graph.nodes[edge.to].row = graph.nodes[from].row + 1;
      if (edge.to != graph.nodes.size() - 1) {
        last_row = std::max(last_row, graph.nodes[edge.to].row);
        reached.push_back(edge.to);
      }
    }
  }
  // Nodes that only jumps reach, and tool nodes of live agents, which have no edges.
  for (DrawnNode& node : graph.nodes) {
    if (node.row == kNoRow) node.row = last_row + 1;
    if (&node != &graph.nodes.back()) last_row = std::max(last_row, node.row);
  }
  graph.nodes.back().row = last_row + 1;
}

std::string IdOf(size_t index) {
  return "n" + std::to_string(index);
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Number(double value) {
  return std::to_string(static_cast<int64_t>(value));
}

// The picture: rows of boxes from top to bottom. Edges to the next row go down the middle, all
// others in a curve along the right side.
class SvgPicture {
 public:
  explicit SvgPicture(const DrawnGraph& graph) : graph_(graph), places_(graph.nodes.size()) {
    std::map<size_t, std::vector<size_t>> rows;
    for (size_t i = 0; i < graph.nodes.size(); ++i) rows[graph.nodes[i].row].push_back(i);
    size_t widest = 1;
    for (const auto& [row, members] : rows) widest = std::max(widest, members.size());
    width_ = static_cast<double>(widest) * kColumn + 2 * kMargin;
    for (const auto& [row, members] : rows) {
      const double left = (width_ - static_cast<double>(members.size()) * kColumn) / 2;
      for (size_t i = 0; i < members.size(); ++i) {
        places_[members[i]] = {.x = left + (static_cast<double>(i) + 0.5) * kColumn,
                               .y = kMargin + static_cast<double>(row) * kRow};
      }
    }
    height_ = 2 * kMargin + static_cast<double>(graph.nodes.back().row) * kRow + kBoxHeight;
  }

  std::string Text() const {
    std::string svg = R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + Number(width_) +
                      R"(" height=")" + Number(height_) +
                      R"(" font-family="sans-serif" font-size="13" text-anchor="middle">)"
                      "\n"
                      R"(<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" )"
                      R"(markerWidth="8" markerHeight="8" orient="auto">)"
                      R"(<path d="M0 0L8 4L0 8z"/></marker></defs>)"
                      "\n<title>" +
                      Escaped(graph_.name) + "</title>\n";
    for (const DrawnEdge& edge : graph_.edges) svg += EdgeText(edge);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) svg += NodeText(graph_.nodes[i], places_[i]);
    return svg + "</svg>\n";
  }

 private:
  struct Place {
    double x = 0;  // middle
    double y = 0;  // top
  };
  static constexpr double kMargin = 60;
  static constexpr double kColumn = 220;
  static constexpr double kRow = 100;
  static constexpr double kBoxWidth = 180;
  static constexpr double kBoxHeight = 46;
  static constexpr size_t kDetailMax = 28;  // characters that fit into a box

  static std::string NodeText(const DrawnNode& node, const Place& place) {
    const bool is_end = node.kind.empty();
    std::string text = R"(<rect x=")" + Number(place.x - kBoxWidth / 2) + R"(" y=")" +
                       Number(place.y) + R"(" width=")" + Number(kBoxWidth) + R"(" height=")" +
                       Number(kBoxHeight) + R"(" rx=")" + Number(is_end ? kBoxHeight / 2 : 6) +
                       R"(" fill="white" stroke="black"/>)"
                       "\n<text x=\"" +
                       Number(place.x) + "\" y=\"" + Number(place.y + (is_end ? 28 : 20)) + "\">" +
                       Escaped(node.name) + "</text>\n";
    if (is_end) return text;
    std::string detail = node.kind;
    if (!node.detail.empty()) detail += ": " + node.detail;
    if (detail.size() > kDetailMax) detail = detail.substr(0, kDetailMax) + "…";
    return text + R"(<text x=")" + Number(place.x) + R"(" y=")" + Number(place.y + 37) +
           R"(" font-size="11" fill="dimgray">)" + Escaped(detail) + "</text>\n";
  }

  std::string EdgeText(const DrawnEdge& edge) const {
    const Place& from = places_[edge.from];
    const Place& to = places_[edge.to];
    std::string path;
    if (graph_.nodes[edge.to].row == graph_.nodes[edge.from].row + 1) {
      path = "M" + Number(from.x) + " " + Number(from.y + kBoxHeight) + "L" + Number(to.x) + " " +
             Number(to.y);
    } else {
      const double middle = kBoxHeight / 2;
      const double out = std::max(from.x, to.x) + kBoxWidth / 2 + 45;
      path = "M" + Number(from.x + kBoxWidth / 2) + " " + Number(from.y + middle) + "C" +
             Number(out) + " " + Number(from.y + middle) + " " + Number(out) + " " +
             Number(to.y + middle) + " " + Number(to.x + kBoxWidth / 2) + " " +
             Number(to.y + middle);
    }
    return R"(<path d=")" + path +
           R"svg(" fill="none" stroke="black" marker-end="url(#arrow)")svg" +
           (edge.conditional ? R"( stroke-dasharray="5 4")" : "") + "/>\n";
  }

  const DrawnGraph& graph_;
  std::vector<Place> places_;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace

DrawnGraph PlaceNodes(const graph::CompiledGraph& graph) {
  DrawnGraph drawn{.name = graph.name()};
  std::map<std::string, size_t, std::less<>> index;
  const auto add = [&](const std::string& key, DrawnNode node) {
    index[key] = drawn.nodes.size();
    drawn.nodes.push_back(std::move(node));
  };
  add(START, {.name = "START"});
  for (const graph::Node& node : graph.nodes()) {
    DrawnNode one{.name = node.name};
    std::visit(Describe{one}, node.kind);
    add(node.name, std::move(one));
  }
  add(END, {.name = "END"});
  const std::vector<graph::EdgeView> edges = graph.edges();
  for (const graph::EdgeView& edge : edges) {
    const bool conditional = std::ranges::count(edges, edge.source, &graph::EdgeView::source) > 1;
    drawn.edges.push_back(
        {.from = index.at(edge.source), .to = index.at(edge.target), .conditional = conditional});
  }
  SetRows(drawn);
  return drawn;
}

std::string DrawText(const DrawnGraph& graph) {
  std::string text = graph.name + "\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const DrawnNode& node = graph.nodes[i];
    text += "\n" + node.name;
    if (!node.kind.empty()) text += "  (" + node.kind;
    if (!node.detail.empty()) text += ": " + node.detail;
    if (!node.kind.empty()) text += ")";
    for (const DrawnEdge& edge : graph.edges) {
      if (edge.from != i) continue;
      text += edge.conditional ? "\n  ?-> " : "\n  --> ";
      text += graph.nodes[edge.to].name;
    }
  }
  return text + "\n";
}

std::string DrawMermaid(const DrawnGraph& graph) {
  std::string text = "flowchart TD\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const DrawnNode& node = graph.nodes[i];
    const std::string label = "\"" + Escaped(node.name) + "\"";
    text += "  " + IdOf(i) + (node.kind.empty() ? "([" + label + "])" : "[" + label + "]") + "\n";
  }
  for (const DrawnEdge& edge : graph.edges) {
    text += "  " + IdOf(edge.from) + (edge.conditional ? " -.-> " : " --> ") + IdOf(edge.to) + "\n";
  }
  return text;
}

std::string DrawSvg(const DrawnGraph& graph) {
  return SvgPicture(graph).Text();
}

}  // namespace agent_graph::cli
