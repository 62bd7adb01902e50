// Backends of the user's: loading them, and calling them on the user pool.
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

// A request waits for a backend at most so long.
inline constexpr std::chrono::seconds kBackendTimeout{10};

// Run user code: the constructor of the backend. Failures are one line that names the file.
Result<std::shared_ptr<AuthenticationBackend>> LoadAuthenticationBackend(
    const settings::ExportSettings& source);
Result<std::shared_ptr<AuthorizationBackend>> LoadAuthorizationBackend(
    const settings::ExportSettings& source);

using Warn = std::function<void(const std::string&)>;

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

// Calls Close on a thread of its own, where it may hold `bytes_max`, and waits for it until
// `deadline`.
void CloseBackend(const std::shared_ptr<AuthorizationBackend>& backend, uint64_t bytes_max,
                  Deadline deadline, const Warn& warn);

}  // namespace agent_graph::auth
