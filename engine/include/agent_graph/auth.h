// Authentication and authorization backends: they identify the user of a request and decide what
// that user may do.
//
//   class ApiKeys : public AuthenticationBackend {
//    public:
//     json Authenticate(const AuthRequest& request, AuthResponse&,
//                       const std::optional<std::string>& credential) override {
//       if (request.Header("x-api-key") != "secret") {
//         throw AccountError("INVALID_KEY", "unknown key");
//       }
//       return {{"user_id", "alice"}};
//     }
//   };
//   AGENT_GRAPH_EXPORT_AUTHENTICATION(ApiKeys, ApiKeys)
//
// `"auth": {"method": "custom", "path": "auth/api_keys.so:ApiKeys"}` loads it.
//
// The server calls a backend on several threads of the user pool at the same time, so a backend
// must protect the data that it changes. Its functions may block, but the request waits for the
// result; a request whose call takes longer than 10 seconds is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/export.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/plugin.h"

namespace agent_graph {

// The head of a request. The body has not been read yet.
struct AGENT_GRAPH_API AuthRequest {
  std::string method;
  std::string path;                                          // raw, without the location prefix
  std::string query;                                         // raw, without '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string peer_address;
  std::string request_id;
  bool websocket = false;  // true for a WebSocket handshake

  // The first value of the header `name`, or an empty view. `name` must be in lower case.
  std::string_view Header(std::string_view name) const;
};

// Headers to add to the response, whether the request is accepted or refused. A header that is not
// valid in HTTP is left out, and a warning is logged.
class AGENT_GRAPH_API AuthResponse {
 public:
  // Adds a header; the same name may be added several times.
  void SetHeader(std::string name, std::string value);
  const std::vector<std::pair<std::string, std::string>>& headers() const { return headers_; }

 private:
  std::vector<std::pair<std::string, std::string>> headers_;
};

// Throw it to refuse the credential: the response is always 403, with `code` as its error code.
class AGENT_GRAPH_API AccountError : public std::runtime_error {
 public:
  AccountError(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  ~AccountError() override;
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

// Throw it to refuse the request with a status from 400 to 599, such as 401.
class AGENT_GRAPH_API HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  ~HttpError() override;
  int status() const { return status_; }

 private:
  int status_;
};

// Identifies the user of a request. Created once in each worker; several threads call it at once.
class AGENT_GRAPH_API AuthenticationBackend {
 public:
  virtual ~AuthenticationBackend();

  // `credential` is the token of `Authorization: Bearer`, or of the place where a WebSocket carries
  // it. To accept the request return an object with at least `user_id`: the whole object becomes
  // `config.user`. Return null or {} for an anonymous request; an object without `user_id` is one,
  // too. To refuse it throw AccountError or HttpError; any other exception is answered with 500.
  virtual json Authenticate(const AuthRequest& request, AuthResponse& response,
                            const std::optional<std::string>& credential) = 0;
};

enum class Isolation : uint8_t {
  kOwner,  // only the rows that belong to the caller are visible
  kNone,   // all rows of the service are visible
};

// Decides what users may do. Created once in each worker; several threads call it at once.
class AGENT_GRAPH_API AuthorizationBackend {
 public:
  virtual ~AuthorizationBackend();

  // Returns true if `user` may perform `action` on `resource`. `resource_id` names the object (a
  // thread id for graph and checkpointer); it is absent when the request creates or lists objects,
  // and in the first of the two calls for a request whose body names the thread.
  // `context` has `method`, `path`, `request_id` and, once the body has been read, `config`. An
  // exception denies the request.
  virtual bool Authorize(const json& user, const std::string& resource, const std::string& action,
                         const std::optional<std::string>& resource_id, const json& context) = 0;

  // The rows that requests may read and change. Default: kOwner. Anonymous requests own no rows:
  // with kOwner they get 403 for all but the graph and its settings, even if Authorize returns
  // true.
  virtual Isolation IsolationScope();
  // The scopes of the user; an empty list means that nothing is allowed. nullopt: `scopes` of the
  // user object is used if it is an array; without it the user is not restricted. The default
  // returns `scopes` of the user object.
  virtual std::optional<std::vector<std::string>> ScopesFor(const json& user);
  // Called after a thread was deleted: remove what is cached about it. Not every deletion is
  // reported: none while the worker has lost its connection to the state service, and none while
  // calls are so slow that 16,384 threads are already queued. So without isolation, do not grant
  // access to a thread because of cached data alone.
  virtual void Evict(const std::string& thread_id);
  // Called once, when the worker stops.
  virtual void Close();
};

// The records that the two macros export. Their layout is fixed.
inline constexpr uint64_t kAuthenticationDescriptorMagic = 0x41475241'5554484e;
inline constexpr uint64_t kAuthorizationDescriptorMagic = 0x41475241'5554485a;

struct AuthAbiRecord {
  AbiRecord graph;
  uint32_t sizes[4];
};

__attribute__((visibility("hidden"))) constexpr AuthAbiRecord CurrentAuthAbi() {
  return AuthAbiRecord{CurrentAbi(),
                       {sizeof(AuthRequest), sizeof(AuthResponse), sizeof(AuthenticationBackend),
                        sizeof(AuthorizationBackend)}};
}

template <typename Backend>
struct AuthDescriptor {
  uint64_t magic;
  AuthAbiRecord abi;
  std::unique_ptr<Backend> (*make)();
};

using AuthenticationDescriptor = AuthDescriptor<AuthenticationBackend>;
using AuthorizationDescriptor = AuthDescriptor<AuthorizationBackend>;

}  // namespace agent_graph

// `attribute` is the name after the colon in service.json. Each worker creates one `Class`.
#define AGENT_GRAPH_EXPORT_AUTHENTICATION(attribute, Class)                                \
  extern "C" AGENT_GRAPH_API const ::agent_graph::AuthenticationDescriptor                 \
      agent_graph_authentication_##attribute;                                              \
  const ::agent_graph::AuthenticationDescriptor agent_graph_authentication_##attribute = { \
      ::agent_graph::kAuthenticationDescriptorMagic, ::agent_graph::CurrentAuthAbi(),      \
      +[]() -> std::unique_ptr<::agent_graph::AuthenticationBackend> {                     \
        return std::make_unique<Class>();                                                  \
      }};

#define AGENT_GRAPH_EXPORT_AUTHORIZATION(attribute, Class)                               \
  extern "C" AGENT_GRAPH_API const ::agent_graph::AuthorizationDescriptor                \
      agent_graph_authorization_##attribute;                                             \
  const ::agent_graph::AuthorizationDescriptor agent_graph_authorization_##attribute = { \
      ::agent_graph::kAuthorizationDescriptorMagic, ::agent_graph::CurrentAuthAbi(),     \
      +[]() -> std::unique_ptr<::agent_graph::AuthorizationBackend> {                    \
        return std::make_unique<Class>();                                                \
      }};
