// Finds the route of a request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/route.h"

namespace agent_graph::api {

struct RouteMatch {
  enum class Kind : uint8_t { kFound, kNotFound, kMethodNotAllowed };
  Kind kind = Kind::kNotFound;
  uint16_t route = 0;                        // index into the table
  bool trailing_slash = false;               // the path is the route's path with a trailing slash
  std::vector<std::string> path_parameters;  // decoded once
  std::string allow;                         // for kMethodNotAllowed: "GET, HEAD, OPTIONS"
};

// Matches requests against a route table. Immutable, therefore thread-safe.
class Router {
 public:
  // `routes` must outlive the router. If several patterns match a path, the first one with the
  // method is used. Therefore patterns with literal segments precede patterns with parameters.
  explicit Router(std::span<const Route> routes);

  // `raw_path` is the request target's path as sent, location prefix stripped, without query.
  // Segments are split before decoding, so %2F stays inside its segment. A decoded segment that is
  // or contains a "." or ".." path component is not found, except as the id in a route that creates
  // a thread. One slash at the end is allowed and is no empty id. HEAD matches GET. Nginx thread:
  // no allocation beyond the parameters, no exceptions.
  RouteMatch Match(std::string_view method, std::string_view raw_path) const;

 private:
  static constexpr size_t kSegmentsMax = 8;  // path segments; longer paths match no route

  // The segments of a path or pattern, without the leading slash.
  struct Segments {
    std::array<std::string_view, kSegmentsMax> parts;
    size_t count = 0;
  };
  struct DecodedPath;

  static std::optional<Segments> Split(std::string_view path);
  // False: the path matches no route.
  static bool DecodePath(std::string_view raw_path, DecodedPath& path);
  static bool PatternMatches(const Segments& pattern, const Segments& path);

  const std::span<const Route> routes_;
  std::vector<Segments> patterns_;  // the paths of `routes_`, in the same order
};

}  // namespace agent_graph::api
