#include "api/http/router.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/percent_encoding.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

bool MethodMatches(Method method, std::string_view name) {
  return name == NameOf(method) || (method == Method::kGet && name == "HEAD");
}

constexpr bool IsParameter(std::string_view segment) {
  return segment.starts_with('{');
}

// Appends a method to the value of an Allow header. More than one matching pattern may have it.
void AppendAllowed(Method method, std::string& allow) {
  std::string name(NameOf(method));
  name += method == Method::kGet ? ", HEAD, " : ", ";
  if (allow.find(name) == std::string::npos) allow += name;
}

}  // namespace

// The decoded path. Literal segments are compared decoded, too: "/%70ing" is "/ping".
struct Router::DecodedPath {
  Segments segments;  // refers to the raw path, or to `unescaped`
  bool trailing_slash = false;
  bool has_dot_component = false;                        // in any segment
  std::array<std::string, kSegmentsMax> unescaped = {};  // of the segments with escapes

  // False for a broken escape.
  bool Unescape(size_t i) {
    std::string_view& segment = segments.parts[i];
    if (segment.find('%') == std::string_view::npos) return true;
    if (!PercentDecode(segment, unescaped[i])) return false;
    segment = unescaped[i];
    return true;
  }
};

Router::Router(std::span<const Route> routes) : routes_(routes) {
  patterns_.reserve(routes.size());
  for (const Route& route : routes) {
    std::optional<Segments> pattern = Split(route.pattern);
    AG_CHECK(pattern.has_value(), "a route's pattern is not a path");
    patterns_.push_back(*pattern);
  }
}

std::optional<Router::Segments> Router::Split(std::string_view path) {
  if (path.empty() || path[0] != '/') return std::nullopt;
  path.remove_prefix(1);
  Segments segments;
  for (;;) {
    if (segments.count == kSegmentsMax) return std::nullopt;
    size_t slash = path.find('/');
    segments.parts[segments.count++] = path.substr(0, slash);
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool Router::DecodePath(std::string_view raw_path, DecodedPath& path) {
  // Base URLs with a trailing slash lead to "//v1/…".
  if (raw_path.starts_with("//")) raw_path.remove_prefix(1);
  std::optional<Segments> raw = Split(raw_path);
  if (!raw) return false;
  path.segments = *raw;
  auto& [parts, count] = path.segments;
  // An empty last segment is a trailing slash and not an empty id. One is allowed.
  path.trailing_slash = parts[count - 1].empty();
  if (path.trailing_slash) --count;
  if (count == 0 || parts[count - 1].empty()) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!path.Unescape(i) || parts[i].find('\0') != std::string_view::npos) return false;
    // An escaped slash may hide a step out of the location, as in "a%2F..%2Fb".
    path.has_dot_component = path.has_dot_component || HasDotComponent(parts[i]);
  }
  return true;
}

bool Router::PatternMatches(const Segments& pattern, const Segments& path) {
  if (pattern.count != path.count) return false;
  for (size_t i = 0; i < pattern.count; ++i) {
    if (!IsParameter(pattern.parts[i]) && pattern.parts[i] != path.parts[i]) return false;
  }
  return true;
}

RouteMatch Router::Match(std::string_view method, std::string_view raw_path) const {
  RouteMatch match;
  DecodedPath path;
  if (!DecodePath(raw_path, path)) return match;
  for (size_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    if (!PatternMatches(patterns_[i], path.segments)) continue;
    const bool method_matches = MethodMatches(route.method, method);
    if (path.has_dot_component && !(route.creates_thread && method_matches)) continue;
    if (!method_matches) {
      match.kind = RouteMatch::Kind::kMethodNotAllowed;
      AppendAllowed(route.method, match.allow);
      continue;
    }
    match.kind = RouteMatch::Kind::kFound;
    match.route = static_cast<uint16_t>(i);
    match.trailing_slash = path.trailing_slash;
    match.allow.clear();
    for (size_t j = 0; j < path.segments.count; ++j) {
      if (IsParameter(patterns_[i].parts[j])) {
        match.path_parameters.emplace_back(path.segments.parts[j]);
      }
    }
    return match;
  }
  if (match.kind == RouteMatch::Kind::kMethodNotAllowed) match.allow += "OPTIONS";
  return match;
}

}  // namespace agent_graph::api
