#include "api/routes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "api/handlers.h"
#include "api/memory_shapes.h"
#include "api/request_shapes.h"
#include "base/percent_encoding.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

constexpr size_t kSegmentsMax = 8;  // path segments; longer paths match no route

// If several patterns match a path, the first one with the method is used. Therefore patterns with
// literal segments precede patterns with parameters.
constexpr RouteShape Answers(std::string_view data) {
  return {nullptr, nullptr, data};
}
constexpr RouteShape Asks(const FieldTable& query, std::string_view data) {
  return {nullptr, &query, data};
}
constexpr RouteShape Takes(const FieldTable& body, std::string_view data) {
  return {&body, nullptr, data};
}

constexpr std::array kRoutes = {
#ifdef AGENT_GRAPH_ECHO
    Route{Method::kGet, "/echo", Access::kDocumentation, "", "", BodyKind::kNone, false, OpenEcho,
          "Every message back, for conformance suites", RouteShape(), Transport::kSocket,
          EchoMessage},
#endif
    Route{Method::kGet, "/ping", Access::kPublic, "", "", BodyKind::kNone, true, nullptr,
          "Tell that the service is up", Answers("Pong")},
    Route{Method::kGet, "/openapi.json", Access::kDocumentation, "", "", BodyKind::kNone, true,
          nullptr, "This interface, for programs"},
    Route{Method::kGet, "/docs", Access::kDocumentation, "", "", BodyKind::kNone, true, nullptr,
          "This interface, to be tried out"},
    Route{Method::kGet, "/redoc", Access::kDocumentation, "", "", BodyKind::kNone, true, nullptr,
          "This interface, to be read"},
    Route{Method::kGet, "/docs/{file}", Access::kDocumentation, "", "", BodyKind::kNone, true,
          nullptr, "What these pages are made of"},
    Route{Method::kPost, "/v1/graph/invoke", Access::kGuarded, "graph", "invoke", BodyKind::kJson,
          false, InvokeGraph, "Run the graph and return the conversation",
          Takes(kRunBody, "Invocation")},
    Route{Method::kPost, "/v1/graph/stream", Access::kGuarded, "graph", "stream", BodyKind::kJson,
          false, StreamGraph, "Run the graph and stream what happens, one JSON object a line",
          Takes(kRunBody, kStreamAnswer)},
    Route{Method::kGet, "/v1/graph", Access::kGuarded, "graph", "read", BodyKind::kNone, false,
          GetGraph, "Describe the graph", Answers("GraphDescription")},
    Route{Method::kGet, "/v1/graph/ws", Access::kGuarded, "graph", "stream", BodyKind::kNone, false,
          OpenGraphSocket, "Run the graph as often as the client asks, over one WebSocket",
          Takes(kRunFrame, kStreamAnswer), Transport::kSocket, RunGraphFrame},
    Route{Method::kGet, "/v1/graph/live", Access::kGuarded, "graph", "stream", BodyKind::kNone,
          false, OpenLiveSocket, "Speak with a live agent over a WebSocket", RouteShape(),
          Transport::kLiveSocket, RunLiveSession},
    Route{Method::kGet, "/v1/graph/tools", Access::kGuarded, "graph", "read", BodyKind::kNone,
          false, GetTools, "List the tools of each tool node", Answers("ToolList")},
    Route{Method::kPost, "/v1/graph/setup", Access::kGuarded, "graph", "setup", BodyKind::kJson,
          false, SetUpTools, "Replace the tools of tool nodes that the client runs",
          Takes(kSetupBody, "SetupResult"), Transport::kHttp, nullptr, SetupIsClosed},
    Route{Method::kGet, "/v1/graph:StateSchema", Access::kGuarded, "graph", "read", BodyKind::kNone,
          false, GetStateSchema, "JSON Schema of the graph's state", Answers("StateSchema")},
    Route{Method::kGet, "/v1/observability/{thread_id}", Access::kGuarded, "graph", "read",
          BodyKind::kNone, false, GetTrace, "What the latest runs of a thread did",
          Asks(kTraceQuery, "Trace")},
    Route{Method::kPost, "/v1/graph/stop", Access::kGuarded, "graph", "stop", BodyKind::kJson,
          false, StopGraph, "Ask the run of a thread to stop", Takes(kStopBody, "StopResult")},
    Route{Method::kPost, "/v1/graph/fix", Access::kGuarded, "graph", "fix", BodyKind::kJson, false,
          FixGraph, "Remove tool calls without a result and results without a call",
          Takes(kFixBody, "FixResult")},
    Route{Method::kGet, "/v1/threads", Access::kGuarded, "checkpointer", "read", BodyKind::kNone,
          false, ListThreads, "List threads, the latest first", Asks(kPageQuery, "ThreadList")},
    Route{Method::kGet, "/v1/threads/{thread_id}", Access::kGuarded, "checkpointer", "read",
          BodyKind::kNone, false, GetThread, "Read a thread's record", Answers("Thread")},
    Route{Method::kDelete, "/v1/threads/{thread_id}", Access::kGuarded, "checkpointer", "delete",
          BodyKind::kJson, false, DeleteThread, "Delete a thread with all it holds",
          Takes(kConfigBody, "Done")},
    Route{Method::kGet, "/v1/threads/{thread_id}/state", Access::kGuarded, "checkpointer", "read",
          BodyKind::kNone, false, GetThreadState, "Read a thread's state", Answers("ThreadState")},
    Route{Method::kPut, "/v1/threads/{thread_id}/state", Access::kGuarded, "checkpointer", "write",
          BodyKind::kJson, false, PutThreadState, "Merge fields into a thread's state",
          Takes(kStateBody, "StateUpdated")},
    Route{Method::kDelete, "/v1/threads/{thread_id}/state", Access::kGuarded, "checkpointer",
          "delete", BodyKind::kOptionalJson, false, DeleteThreadState, "Clear a thread's state",
          Takes(kConfigBody, "StateCleared")},
    Route{Method::kGet, "/v1/threads/{thread_id}/messages", Access::kGuarded, "checkpointer",
          "read", BodyKind::kNone, false, ListMessages,
          "List a thread's messages, the oldest first", Asks(kPageQuery, "MessageList")},
    Route{Method::kPost, "/v1/threads/{thread_id}/messages", Access::kGuarded, "checkpointer",
          "write", BodyKind::kJson, false, AddMessages, "Append messages to a thread",
          Takes(kMessagesBody, "Done")},
    Route{Method::kGet, "/v1/threads/{thread_id}/messages/{message_id}", Access::kGuarded,
          "checkpointer", "read", BodyKind::kNone, false, GetMessage, "Read one message",
          Answers("Message")},
    Route{Method::kDelete, "/v1/threads/{thread_id}/messages/{message_id}", Access::kGuarded,
          "checkpointer", "delete", BodyKind::kOptionalJson, false, DeleteMessage,
          "Delete one message", Takes(kConfigBody, "Done")},
    Route{Method::kPost, "/v1/store/memories", Access::kGuarded, "store", "write", BodyKind::kJson,
          false, StoreMemory, "Store a memory", Takes(kStoreMemoryBody, "MemoryStored")},
    Route{Method::kPost, "/v1/store/search", Access::kGuarded, "store", "read", BodyKind::kJson,
          false, SearchMemories, "Find memories by what they say",
          Takes(kSearchMemoriesBody, "MemoryResults")},
    Route{Method::kPost, "/v1/store/memories/list", Access::kGuarded, "store", "read",
          BodyKind::kOptionalJson, false, ListMemories, "List memories, the newest first",
          Takes(kListMemoriesBody, "MemoryList")},
    Route{Method::kPost, "/v1/store/memories/forget", Access::kGuarded, "store", "delete",
          BodyKind::kOptionalJson, false, ForgetMemories, "Delete the memories that match",
          Takes(kForgetMemoriesBody, "MemoryDone")},
    Route{Method::kPost, "/v1/store/memories/{memory_id}", Access::kGuarded, "store", "read",
          BodyKind::kOptionalJson, false, GetMemory, "Read one memory",
          Takes(kMemoryBody, "MemoryFound")},
    Route{Method::kPut, "/v1/store/memories/{memory_id}", Access::kGuarded, "store", "write",
          BodyKind::kJson, false, UpdateMemory, "Change a memory",
          Takes(kUpdateMemoryBody, "MemoryDone")},
    Route{Method::kDelete, "/v1/store/memories/{memory_id}", Access::kGuarded, "store", "delete",
          BodyKind::kOptionalJson, false, DeleteMemory, "Delete one memory",
          Takes(kMemoryBody, "MemoryDone")},
    Route{Method::kPost, "/v1/files/upload", Access::kGuarded, "files", "upload", BodyKind::kStream,
          false, UploadFile, "Store a file that messages can refer to", Answers("File")},
    Route{Method::kGet, "/v1/files/{file_id}", Access::kGuarded, "files", "read", BodyKind::kNone,
          false, DownloadFile, "Read a file", Answers(kBytesAnswer)},
    Route{Method::kGet, "/v1/files/{file_id}/info", Access::kGuarded, "files", "read",
          BodyKind::kNone, false, GetFileInfo, "Describe a file", Answers("FileInfo")},
    Route{Method::kGet, "/v1/files/{file_id}/url", Access::kGuarded, "files", "read",
          BodyKind::kNone, false, GetFileUrl, "Where a file can be read", Answers("FileUrl")},
    Route{Method::kGet, "/v1/config/multimodal", Access::kGuarded, "config", "read",
          BodyKind::kNone, false, GetMultimodalConfig, "What may be uploaded",
          Answers("MultimodalConfig")},
    Route{Method::kGet, "/v1/evals/runs", Access::kPublic, "", "", BodyKind::kNone, false,
          ListEvalRuns, "List evaluation reports, the latest first", Answers("EvalRuns")},
    Route{Method::kGet, "/v1/evals/runs/{run_id}", Access::kPublic, "", "", BodyKind::kNone, false,
          GetEvalRun, "Read an evaluation report", Answers("EvalRun")},
};

constexpr std::array<std::string_view, 3> kPublicPaths = {"/ping", "/v1/evals/runs",
                                                          "/v1/evals/runs/{run_id}"};

struct Permission {
  std::string_view resource;
  std::string_view action;
};

constexpr std::array kPermissions = {
    Permission{"graph", "invoke"},        Permission{"graph", "stream"},
    Permission{"graph", "stop"},          Permission{"graph", "fix"},
    Permission{"graph", "setup"},         Permission{"graph", "read"},
    Permission{"checkpointer", "read"},   Permission{"checkpointer", "write"},
    Permission{"checkpointer", "delete"}, Permission{"store", "read"},
    Permission{"store", "write"},         Permission{"store", "delete"},
    Permission{"files", "upload"},        Permission{"files", "read"},
    Permission{"config", "read"},
};

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
  }
  return "";
}

bool MethodMatches(Method method, std::string_view name) {
  return name == MethodName(method) || (method == Method::kGet && name == "HEAD");
}

// The segments of a path or pattern, without the leading slash.
struct Segments {
  std::array<std::string_view, kSegmentsMax> parts;
  size_t count = 0;
};

constexpr std::optional<Segments> Split(std::string_view path) {
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

constexpr std::array<Segments, kRoutes.size()> kPatterns = [] {
  std::array<Segments, kRoutes.size()> patterns;
  for (size_t i = 0; i < kRoutes.size(); ++i) patterns[i] = *Split(kRoutes[i].pattern);
  return patterns;
}();

constexpr bool IsParameter(std::string_view segment) {
  return segment.starts_with('{');
}

// Returns false for a broken escape or NUL.
bool DecodeSegment(std::string_view segment, std::string& out) {
  return PercentDecode(segment, out) && out.find('\0') == std::string::npos;
}

// The decoded path. Literal segments are compared decoded, too: "/%70ing" is "/ping".
struct DecodedPath {
  std::array<std::string, kSegmentsMax> parts;
  size_t count = 0;
  bool trailing_slash = false;
  bool has_dot_component = false;  // in any part
};

std::optional<DecodedPath> DecodePath(std::string_view raw_path) {
  // Base URLs with a trailing slash lead to "//v1/…".
  if (raw_path.starts_with("//")) raw_path.remove_prefix(1);
  std::optional<Segments> raw = Split(raw_path);
  if (!raw) return std::nullopt;
  DecodedPath path;
  path.count = raw->count;
  // An empty last segment is a trailing slash and not an empty id. One is allowed.
  path.trailing_slash = raw->parts[path.count - 1].empty();
  if (path.trailing_slash) --path.count;
  if (path.count == 0 || raw->parts[path.count - 1].empty()) return std::nullopt;
  for (size_t i = 0; i < path.count; ++i) {
    if (!DecodeSegment(raw->parts[i], path.parts[i])) return std::nullopt;
    // An escaped slash may hide a step out of the location, as in "a%2F..%2Fb".
    path.has_dot_component = path.has_dot_component || HasDotComponent(path.parts[i]);
  }
  return path;
}

// True for the routes that create the thread they name. They alone match an id with a "." or ".."
// component, so that the handler refuses it as an unusable id: to every other route no such thread
// exists.
bool CreatesThread(const Route& route) {
  return route.resource == "checkpointer" && route.action == "write";
}

bool PatternMatches(const Segments& pattern, const DecodedPath& path) {
  if (pattern.count != path.count) return false;
  for (size_t i = 0; i < pattern.count; ++i) {
    if (!IsParameter(pattern.parts[i]) && pattern.parts[i] != path.parts[i]) return false;
  }
  return true;
}

}  // namespace

std::span<const Route> Routes() {
  return kRoutes;
}

RouteMatch MatchRoute(std::string_view method, std::string_view raw_path) {
  RouteMatch match;
  std::optional<DecodedPath> path = DecodePath(raw_path);
  if (!path) return match;
  for (size_t i = 0; i < kRoutes.size(); ++i) {
    if (!PatternMatches(kPatterns[i], *path)) continue;
    const bool creates = CreatesThread(kRoutes[i]) && MethodMatches(kRoutes[i].method, method);
    if (path->has_dot_component && !creates) continue;
    if (MethodMatches(kRoutes[i].method, method)) {
      match.kind = RouteMatch::Kind::kFound;
      match.route = static_cast<uint16_t>(i);
      match.trailing_slash = path->trailing_slash;
      match.allow.clear();
      for (size_t j = 0; j < path->count; ++j) {
        if (IsParameter(kPatterns[i].parts[j])) {
          match.path_parameters.push_back(std::move(path->parts[j]));
        }
      }
      return match;
    }
    match.kind = RouteMatch::Kind::kMethodNotAllowed;
    std::string name(MethodName(kRoutes[i].method));
    name += kRoutes[i].method == Method::kGet ? ", HEAD, " : ", ";
    // More than one of the matching patterns may have this method.
    if (match.allow.find(name) == std::string::npos) match.allow += name;
  }
  if (match.kind == RouteMatch::Kind::kMethodNotAllowed) match.allow += "OPTIONS";
  return match;
}

Status CheckRouteGuards() {
  return CheckRouteGuards(kRoutes);
}

Status CheckRouteGuards(std::span<const Route> routes) {
  std::string offenders;
  for (const Route& route : routes) {
    if (route.access == Access::kDocumentation) continue;
    bool allowed;
    if (route.access == Access::kPublic) {
      allowed = std::ranges::find(kPublicPaths, route.pattern) != kPublicPaths.end();
    } else {
      allowed = std::ranges::any_of(kPermissions, [&](const Permission& permission) {
        return permission.resource == route.resource && permission.action == route.action;
      });
    }
    if (allowed) continue;
    if (!offenders.empty()) offenders += ", ";
    offenders += std::string(MethodName(route.method)) + " " + std::string(route.pattern);
  }
  if (offenders.empty()) return Status::Ok();
  return Status(StatusCode::kInternal, "routes without a permission guard: " + offenders);
}

}  // namespace agent_graph::api
