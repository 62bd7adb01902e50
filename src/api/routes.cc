#include "api/routes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "api/resources/handlers.h"
#include "api/resources/memory_shapes.h"
#include "api/resources/request_shapes.h"
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
    Route{
        .method = Method::kGet,
        .pattern = "/echo",
        .access = Access::kDocumentation,
        .handler = OpenEcho,
        .summary = "Echo messages, for conformance suites",
        .transport = Transport::kSocket,
        .on_message = EchoMessage,
    },
#endif
    Route{
        .method = Method::kGet,
        .pattern = "/ping",
        .access = Access::kPublic,
        .native = true,
        .summary = "Health check",
        .shape = Answers("Pong"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/openapi.json",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "OpenAPI document",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/docs",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "API explorer",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/redoc",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "API reference",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/docs/{file}",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "Files of the documentation pages",
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/invoke",
        .resource = "graph",
        .action = "invoke",
        .body = BodyKind::kJson,
        .handler = InvokeGraph,
        .summary = "Run the graph and return the conversation",
        .shape = Takes(kRunBody, "Invocation"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/stream",
        .resource = "graph",
        .action = "stream",
        .body = BodyKind::kJson,
        .handler = StreamGraph,
        .summary = "Run the graph and stream its events, one JSON object per line",
        .shape = Takes(kRunBody, kStreamAnswer),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph",
        .resource = "graph",
        .action = "read",
        .handler = GetGraph,
        .summary = "Describe the graph",
        .shape = Answers("GraphDescription"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/ws",
        .resource = "graph",
        .action = "stream",
        .handler = OpenGraphSocket,
        .summary = "Run the graph for each request that arrives over a WebSocket",
        .shape = Takes(kRunFrame, kStreamAnswer),
        .transport = Transport::kSocket,
        .on_message = RunGraphFrame,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/live",
        .resource = "graph",
        .action = "stream",
        .handler = OpenLiveSocket,
        .summary = "Speak with a live agent over a WebSocket",
        .transport = Transport::kLiveSocket,
        .on_message = RunLiveSession,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/tools",
        .resource = "graph",
        .action = "read",
        .handler = GetTools,
        .summary = "List the tools of each tool node",
        .shape = Answers("ToolList"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/setup",
        .resource = "graph",
        .action = "setup",
        .body = BodyKind::kJson,
        .handler = SetUpTools,
        .summary = "Replace the tools of tool nodes that the client runs",
        .shape = Takes(kSetupBody, "SetupResult"),
        .closed = SetupIsClosed,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph:StateSchema",
        .resource = "graph",
        .action = "read",
        .handler = GetStateSchema,
        .summary = "JSON Schema of the graph's state",
        .shape = Answers("StateSchema"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/observability/{thread_id}",
        .resource = "graph",
        .action = "read",
        .handler = GetTrace,
        .summary = "Trace of the latest runs of a thread",
        .shape = Asks(kTraceQuery, "Trace"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/stop",
        .resource = "graph",
        .action = "stop",
        .body = BodyKind::kJson,
        .handler = StopGraph,
        .summary = "Ask the run of a thread to stop",
        .shape = Takes(kStopBody, "StopResult"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/fix",
        .resource = "graph",
        .action = "fix",
        .body = BodyKind::kJson,
        .handler = FixGraph,
        .summary = "Remove tool calls without a result and results without a call",
        .shape = Takes(kFixBody, "FixResult"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads",
        .resource = "checkpointer",
        .action = "read",
        .handler = ListThreads,
        .summary = "List threads, the latest first",
        .shape = Asks(kPageQuery, "ThreadList"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}",
        .resource = "checkpointer",
        .action = "read",
        .handler = GetThread,
        .summary = "Read a thread's record",
        .shape = Answers("Thread"),
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}",
        .resource = "checkpointer",
        .action = "delete",
        .body = BodyKind::kJson,
        .handler = DeleteThread,
        .summary = "Delete a thread with all it holds",
        .shape = Takes(kConfigBody, "Done"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/state",
        .resource = "checkpointer",
        .action = "read",
        .handler = GetThreadState,
        .summary = "Read a thread's state",
        .shape = Answers("ThreadState"),
    },
    Route{
        .method = Method::kPut,
        .pattern = "/v1/threads/{thread_id}/state",
        .resource = "checkpointer",
        .action = "write",
        .body = BodyKind::kJson,
        .handler = PutThreadState,
        .summary = "Merge fields into a thread's state",
        .shape = Takes(kStateBody, "StateUpdated"),
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}/state",
        .resource = "checkpointer",
        .action = "delete",
        .body = BodyKind::kOptionalJson,
        .handler = DeleteThreadState,
        .summary = "Clear a thread's state",
        .shape = Takes(kConfigBody, "StateCleared"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/messages",
        .resource = "checkpointer",
        .action = "read",
        .handler = ListMessages,
        .summary = "List a thread's messages, the oldest first",
        .shape = Asks(kPageQuery, "MessageList"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/threads/{thread_id}/messages",
        .resource = "checkpointer",
        .action = "write",
        .body = BodyKind::kJson,
        .handler = AddMessages,
        .summary = "Append messages to a thread",
        .shape = Takes(kMessagesBody, "Done"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/messages/{message_id}",
        .resource = "checkpointer",
        .action = "read",
        .handler = GetMessage,
        .summary = "Read one message",
        .shape = Answers("Message"),
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}/messages/{message_id}",
        .resource = "checkpointer",
        .action = "delete",
        .body = BodyKind::kOptionalJson,
        .handler = DeleteMessage,
        .summary = "Delete one message",
        .shape = Takes(kConfigBody, "Done"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories",
        .resource = "store",
        .action = "write",
        .body = BodyKind::kJson,
        .handler = StoreMemory,
        .summary = "Store a memory",
        .shape = Takes(kStoreMemoryBody, "MemoryStored"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/search",
        .resource = "store",
        .action = "read",
        .body = BodyKind::kJson,
        .handler = SearchMemories,
        .summary = "Find memories by their content",
        .shape = Takes(kSearchMemoriesBody, "MemoryResults"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/list",
        .resource = "store",
        .action = "read",
        .body = BodyKind::kOptionalJson,
        .handler = ListMemories,
        .summary = "List memories, the newest first",
        .shape = Takes(kListMemoriesBody, "MemoryList"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/forget",
        .resource = "store",
        .action = "delete",
        .body = BodyKind::kOptionalJson,
        .handler = ForgetMemories,
        .summary = "Delete the memories that match",
        .shape = Takes(kForgetMemoriesBody, "MemoryDone"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/{memory_id}",
        .resource = "store",
        .action = "read",
        .body = BodyKind::kOptionalJson,
        .handler = GetMemory,
        .summary = "Read one memory",
        .shape = Takes(kMemoryBody, "MemoryFound"),
    },
    Route{
        .method = Method::kPut,
        .pattern = "/v1/store/memories/{memory_id}",
        .resource = "store",
        .action = "write",
        .body = BodyKind::kJson,
        .handler = UpdateMemory,
        .summary = "Change a memory",
        .shape = Takes(kUpdateMemoryBody, "MemoryDone"),
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/store/memories/{memory_id}",
        .resource = "store",
        .action = "delete",
        .body = BodyKind::kOptionalJson,
        .handler = DeleteMemory,
        .summary = "Delete one memory",
        .shape = Takes(kMemoryBody, "MemoryDone"),
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/files/upload",
        .resource = "files",
        .action = "upload",
        .body = BodyKind::kStream,
        .handler = UploadFile,
        .summary = "Store a file that messages can refer to",
        .shape = Answers("File"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}",
        .resource = "files",
        .action = "read",
        .handler = DownloadFile,
        .summary = "Read a file",
        .shape = Answers(kBytesAnswer),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}/info",
        .resource = "files",
        .action = "read",
        .handler = GetFileInfo,
        .summary = "Describe a file",
        .shape = Answers("FileInfo"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}/url",
        .resource = "files",
        .action = "read",
        .handler = GetFileUrl,
        .summary = "URL of a file",
        .shape = Answers("FileUrl"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/config/multimodal",
        .resource = "config",
        .action = "read",
        .handler = GetMultimodalConfig,
        .summary = "Accepted uploads",
        .shape = Answers("MultimodalConfig"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/evals/runs",
        .access = Access::kPublic,
        .handler = ListEvalRuns,
        .summary = "List evaluation reports, the latest first",
        .shape = Answers("EvalRuns"),
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/evals/runs/{run_id}",
        .access = Access::kPublic,
        .handler = GetEvalRun,
        .summary = "Read an evaluation report",
        .shape = Answers("EvalRun"),
    },
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
