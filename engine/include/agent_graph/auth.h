// Authentication and authorization backends: who a request comes from, and what it may do.
//
//   class ApiKeys : public AuthenticationBackend {
//    public:
//     json Authenticate(const AuthRequest& request, AuthResponse&,
//                                 const std::optional<std::string>& credential) override {
//       if (request.Header("x-api-key") != "secret") throw AccountError("INVALID_KEY", "unknown
//       key"); return {{"user_id", "alice"}};
//     }
//   };
//   AGENT_GRAPH_EXPORT_AUTHENTICATION(ApiKeys, ApiKeys)
//
// `"auth": {"method": "custom", "path": "auth/api_keys.so:ApiKeys"}` loads it. Functions are called
// on threads of the user pool, several at once: a backend guards what it changes. They may block,
// but every request waits for its answer; one that takes longer than 10 seconds is refused.
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

// A request as its head tells it: the body has not been read.
struct AGENT_GRAPH_API AuthRequest {
  std::string method;
  std::string path;                                          // raw, location prefix stripped
  std::string query;                                         // raw, without '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string peer_address;
  std::string request_id;
  bool websocket = false;  // a handshake

  // The first value of a header by lower-case name, or empty.
  std::string_view Header(std::string_view name) const;
};

// Headers for the answer, whether the request is accepted or not.
class AGENT_GRAPH_API AuthResponse {
 public:
  void SetHeader(std::string name, std::string value);
  const std::vector<std::pair<std::string, std::string>>& headers() const { return headers_; }

 private:
  std::vector<std::pair<std::string, std::string>> headers_;
};

// Refuses the credential: always 403, with `code` as the error code of the answer.
class AGENT_GRAPH_API AccountError : public std::runtime_error {
 public:
  AccountError(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  ~AccountError() override;
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

// Refuses the request with a status of 400 to 599, such as 401.
class AGENT_GRAPH_API HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  ~HttpError() override;
  int status() const { return status_; }

 private:
  int status_;
};

class AGENT_GRAPH_API AuthenticationBackend {
 public:
  virtual ~AuthenticationBackend();

  // `credential`: what stood behind `Authorization: Bearer`, or where a WebSocket carries it.
  // An object with at least `user_id` accepts the request, and all of it becomes `config.user`;
  // null or {} is an anonymous request. Throw AccountError or HttpError to refuse; any other
  // exception is answered with 500.
  virtual json Authenticate(const AuthRequest& request, AuthResponse& response,
                            const std::optional<std::string>& credential) = 0;
};

enum class Isolation : uint8_t {
  kOwner,  // rows are limited to those of the caller
  kNone,   // every row of the service
};

class AGENT_GRAPH_API AuthorizationBackend {
 public:
  virtual ~AuthorizationBackend();

  // May `user` do `action` on `resource`? `resource_id` names the object (a thread id for graph and
  // checkpointer) unless the request makes or lists objects. `context` has `method`, `path`,
  // `request_id` and, once the body is known, `config`. Throwing denies.
  virtual bool Authorize(const json& user, const std::string& resource, const std::string& action,
                         const std::optional<std::string>& resource_id, const json& context) = 0;

  virtual Isolation IsolationScope();
  // The scopes the user has. The default passes `scopes` of the user on when it is an array; none
  // means unrestricted, an empty list means nothing is allowed.
  virtual std::optional<std::vector<std::string>> ScopesFor(const json& user);
  // A thread was deleted: forget what is remembered about it. Not every deletion can be told: none
  // is while the worker has lost the state service, nor when calls take so long that 16,384 threads
  // wait for theirs. Without isolation, do not let what is remembered alone open a thread.
  virtual void Evict(const std::string& thread_id);
  // Once, when the worker stops.
  virtual void Close();
};

// What the two macros export, one fixed layout each.
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

// `attribute` is what service.json names after the colon; `Class` is made once in each worker.
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
