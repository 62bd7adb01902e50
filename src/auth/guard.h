// The only place where a request is assigned its caller: authenticate → resource id → scopes →
// authorize → stamp `user.authz`. The guard runs before every handler, before a body is read, and
// before a WebSocket is accepted.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/authorizer.h"
#include "auth/refusal.h"
#include "base/clock.h"
#include "base/status.h"
#include "bridge/request.h"
#include "runtime/cancellation.h"
#include "settings/settings.h"
#include "state/types.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::auth {

// Returns an empty object.
std::shared_ptr<const json> NoClaims();

// The user of a request and the rows that the request may access.
struct Caller {
  state::Scope scope;
  std::string user_id;  // owner of the rows that this request creates; empty: none
  // config.user: the claims with the stamped `authz`. Never null; empty without authentication.
  std::shared_ptr<const json> user = NoClaims();
  bool remembered = false;  // allowed because a cache names the caller as owner of the thread
};

// The result of Check.
struct GuardOutcome {
  std::optional<Refusal> refusal;
  Caller caller;               // valid without a refusal
  bridge::HeaderList headers;  // for the response, in both cases
};

// A request to check. `head` and `cancellation` must live until the check returns.
struct GuardRequest {
  const bridge::RequestHead& head;
  const runtime::Cancellation& cancellation;
  Permission permission;
  std::string resource_id = {};  // id in the path; empty: none
  bool websocket = false;
  // Refuses a thread that does not exist like one of another user, where users see only their own.
  bool thread_must_exist = false;
  // Called once when the user is known, with "" if the credential was refused. A failure ends the
  // request.
  std::function<Status(const std::string& user_id)> admit = {};
};

// A stored run that is to be authorized again. References must stay valid during the call.
struct StoredCall {
  const json& user;  // an object
  const std::string& user_id;
  Permission permission;
  const std::string& thread_id;
  const json& config;
  const runtime::Cancellation& cancellation;
};

// Functions and objects that the guard uses.
struct GuardOptions {
  ReadThread read_thread;               // null: no checkpointer
  runtime::Runtime* runtime = nullptr;  // null: custom backends are loaded but never called
  // Writes a line to the operator's log. Called from any thread.
  std::function<void(const std::string&)> warn;
  // If true, a worker that cannot read its keys starts and answers JWT_SETTINGS_NOT_CONFIGURED.
  bool tolerate_lost_keys = false;
  std::vector<std::string> bearer_protocols = {};  // besides service-bearer
};

// Thread-safe. Check, CheckThread and Confirm run on fibers and may suspend. The settings and
// everything in the options outlive the guard.
class Guard {
 public:
  // Loads custom backends and keys. Runs user code and starts no thread. The text of a failure is
  // one line that names the key or variable.
  static Result<std::unique_ptr<Guard>> Create(const settings::Settings& settings,
                                               GuardOptions options);
  ~Guard();

  // Authenticates the caller and authorizes the request by its head. Call it first.
  GuardOutcome Check(const GuardRequest& request);
  // Second step, for a thread that the body names: authorizes access to `thread_id`. Call it after
  // Check returned no refusal. `config` is the body's config without the server's keys. May set
  // `caller.remembered`.
  std::optional<Refusal> CheckThread(const GuardRequest& request, const json& config,
                                     const std::string& thread_id, Caller& caller);
  // Call it if a cached owner let the request pass but the state service found no such thread of
  // the caller. Reads the owner, corrects the cache, and returns the refusal if there is one.
  std::optional<Refusal> Confirm(const Permission& permission, const std::string& thread_id,
                                 const Caller& caller);

  // Authorizes a stored run again, whose caller was authenticated when it was accepted. `user`:
  // what is stored of the claims. kPermissionDenied; kUnavailable if nothing can be decided now.
  Status AuthorizeStored(const StoredCall& call);

  // A thread was deleted by this worker: removes it from the caches, including Redis. Does not wait
  // for Redis.
  void Evict(const std::string& thread_id);
  // A thread was deleted by any worker: removes it from this worker's cache and reports it to the
  // backend.
  void Forget(const std::string& thread_id);
  // The worker is exiting: drops evictions that wait for its backend.
  void StopEvicting();
  // Closes a custom backend. Call it once, after all other calls. Blocks until `deadline` at most.
  void Close(Deadline deadline);

  struct Implementation;

 private:
  explicit Guard(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::auth
