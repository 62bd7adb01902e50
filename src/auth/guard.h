// The one place where a request becomes a caller: authenticate → resource id → scopes → authorize →
// stamp `user.authz`. Before every handler, before a body is read, before a WebSocket is accepted.
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

// Who asks, and what rows the request may touch.
struct Caller {
  state::Scope scope;
  std::string user_id;           // owner of the rows this request creates; empty: nobody
  std::string user_json = "{}";  // config.user, with the stamped authz
  bool remembered = false;       // let through because a cache named the caller as owner
};

struct GuardOutcome {
  std::optional<Refusal> refusal;
  Caller caller;               // meaningful without a refusal
  bridge::HeaderList headers;  // for the answer, whatever it will be
};

struct GuardRequest {
  const bridge::RequestHead& head;
  const runtime::Cancellation& cancellation;
  Permission permission;
  std::string resource_id = {};  // of the path; empty: none
  bool websocket = false;
  // Called once when it is known who asks, "" when the credential was refused; a failure ends the
  // request.
  std::function<Status(const std::string& user_id)> admit = {};
};

struct GuardOptions {
  ReadThread read_thread;               // null: no checkpointer
  runtime::Runtime* runtime = nullptr;  // null: custom backends are loaded, but never called
  // A line for the operator's log; from any thread.
  std::function<void(const std::string&)> warn;
  // A worker that cannot read its keys serves JWT_SETTINGS_NOT_CONFIGURED instead of not starting.
  bool tolerate_lost_keys = false;
  std::vector<std::string> bearer_protocols = {};  // besides service-bearer
};

// Thread-safe. Its calls run on fibers; everything it was given outlives it.
class Guard {
 public:
  // Loads custom backends and keys. Runs user code, starts no thread.
  static Result<std::unique_ptr<Guard>> Create(const settings::Settings& settings,
                                               GuardOptions options);
  ~Guard();

  GuardOutcome Check(const GuardRequest& request);
  // The second step, for a thread that the body names; after Check let the request through.
  // `config` is the body's without the server's keys. May set `caller.remembered`.
  std::optional<Refusal> CheckThread(const GuardRequest& request, const json& config,
                                     const std::string& thread_id, Caller& caller);
  // A remembered owner let the request through, but the state service found no such thread of the
  // caller's: what is true now. The cache is put right.
  std::optional<Refusal> Confirm(const Permission& permission, const std::string& thread_id,
                                 const Caller& caller);

  // A thread was deleted here: it leaves the caches, Redis too; not awaited.
  void Evict(const std::string& thread_id);
  // A thread was deleted somewhere: it leaves what this worker and its backend remember.
  void Forget(const std::string& thread_id);
  // The worker leaves, and with it what its backend remembers.
  void StopEvicting();
  // Once, after the last call.
  void Close(Deadline deadline);

  struct Implementation;

 private:
  explicit Guard(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::auth
