// Custom authentication and authorization backends: loads them and calls them on the user pool.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent_graph/auth.h"
#include "auth/authenticator.h"
#include "auth/authorizer.h"
#include "auth/evictions.h"
#include "base/status.h"
#include "runtime/runtime.h"
#include "settings/settings.h"

namespace agent_graph::auth {

// Maximum time that a request waits for a backend.
inline constexpr std::chrono::seconds kBackendTimeout{10};

// Load a backend and run its constructor, which is user code. The text of a failure is one line
// that names the file.
Result<std::shared_ptr<AuthenticationBackend>> LoadAuthenticationBackend(
    const settings::ExportSettings& source);
Result<std::shared_ptr<AuthorizationBackend>> LoadAuthorizationBackend(
    const settings::ExportSettings& source);

using Warn = std::function<void(const std::string&)>;

// Calls a custom authentication backend. A backend that fails or does not answer refuses the
// request.
class CustomAuthenticator : public Authenticator {
 public:
  CustomAuthenticator(std::shared_ptr<AuthenticationBackend> backend, runtime::Runtime& runtime,
                      Warn warn);
  std::optional<Refusal> Authenticate(const IncomingRequest& request, json& user,
                                      bridge::HeaderList& headers) override;

 private:
  const std::shared_ptr<AuthenticationBackend> backend_;
  runtime::Runtime& runtime_;
  const Warn warn_;
};

// Calls a custom authorization backend. A backend that fails or does not answer refuses the
// request.
class CustomAuthorizer : public Authorizer {
 public:
  CustomAuthorizer(std::shared_ptr<AuthorizationBackend> backend, runtime::Runtime& runtime,
                   Warn warn);
  Decision Decide(const Question& question) override;
  void Evict(const std::string& thread_id) override;
  void StopEvicting() override;

 private:
  const std::shared_ptr<AuthorizationBackend> backend_;
  runtime::Runtime& runtime_;
  const Warn warn_;
  const std::shared_ptr<Evictions> evictions_;
};

// Calls Close of the backend on its own thread, where user code may allocate `bytes_max` bytes.
// Blocks until Close returns or `deadline` passes; in the latter case the thread is detached.
void CloseBackend(const std::shared_ptr<AuthorizationBackend>& backend, uint64_t bytes_max,
                  Deadline deadline, const Warn& warn);

}  // namespace agent_graph::auth
