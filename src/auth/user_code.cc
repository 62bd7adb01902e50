#include "auth/user_code.h"

#include <thread>
#include <utility>

#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "runtime/signal.h"
#include "runtime/thread.h"

namespace agent_graph::auth {
namespace {

constexpr int kHttpStatusMin = 400;
constexpr int kHttpStatusMax = 599;

// Input and output of a call. The call owns them, because it may outlive the fiber that waits for
// it.
struct AuthenticationCall {
  std::shared_ptr<AuthenticationBackend> backend;
  AuthRequest request;
  std::optional<std::string> credential;

  AuthResponse response;
  json user = json::object();
  std::optional<Refusal> refusal;
  std::string fault;

  void Run() {
    try {
      user = backend->Authenticate(request, response, credential);
      if (user.is_null()) user = json::object();
      if (!user.is_object()) Fail("it returned no object");
    } catch (const AccountError& error) {
      refusal = Refusal{Refusal::Kind::kAccount, error.what(), error.code()};
    } catch (const HttpError& error) {
      refusal = Refusal{Refusal::Kind::kHttp, error.what(), "", error.status()};
      if (error.status() < kHttpStatusMin || error.status() > kHttpStatusMax) {
        Fail("it refused with status " + std::to_string(error.status()));
      }
    } catch (...) {
      Fail(CaughtUserFailure().text);
    }
  }

  void Fail(std::string reason) {
    refusal = Refusal{Refusal::Kind::kInternal};
    fault = std::move(reason);
  }
};

struct AuthorizationCall {
  std::shared_ptr<AuthorizationBackend> backend;
  json user;
  Permission permission;
  std::optional<std::string> resource_id;
  json context = json::object();

  Decision decision;
  std::string fault;

  void Run() {
    try {
      decision.isolate_by_owner = backend->IsolationScope() != Isolation::kNone;
      decision.scopes = backend->ScopesFor(user);
      if (!decision.scopes) decision.scopes = ScopesOfUser(user);
      decision.refusal = MissingScope(decision.scopes, permission);
      if (decision.refusal) return;
      const std::string resource(NameOf(permission.resource));
      const std::string action(NameOf(permission.action));
      if (!backend->Authorize(user, resource, action, resource_id, context)) Deny();
    } catch (...) {
      fault = CaughtUserFailure().text;
      Deny();
    }
  }

  void Deny() { decision.refusal = NotAuthorized(permission); }
};

template <typename Call>
Status RunOnPool(runtime::Runtime& runtime, const std::shared_ptr<Call>& call, const char* name,
                 const runtime::Cancellation& cancellation) {
  auto work = std::make_shared<std::function<void()>>([call] { call->Run(); });
  return runtime.RunUserFunction(std::move(work), name, cancellation,
                                 DeadlineAfter(kBackendTimeout), runtime::UserShare::kAuth);
}

// Refuses headers that contain control characters, for example line ends.
bool IsHeader(const std::string& name, const std::string& value) {
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789-_") != std::string::npos) {
    return false;
  }
  for (unsigned char c : value) {
    if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

// True if the request may access rows. Isolation by owner is impossible for such a request without
// a user.
bool TouchesRows(const Question& question) {
  if (question.permission.resource == Resource::kConfig) return false;
  return question.permission.resource != Resource::kGraph ||
         question.permission.action != Action::kRead || !question.resource_id.empty();
}

// The client's error has the same id.
std::string RequestLabel(const bridge::RequestHead& head) {
  return "request " + head.request_id + ": ";
}

}  // namespace

CustomAuthenticator::CustomAuthenticator(std::shared_ptr<AuthenticationBackend> backend,
                                         runtime::Runtime& runtime, Warn warn)
    : backend_(std::move(backend)), runtime_(runtime), warn_(std::move(warn)) {}

std::optional<Refusal> CustomAuthenticator::Authenticate(const IncomingRequest& request, json& user,
                                                         bridge::HeaderList& headers) {
  auto call = std::make_shared<AuthenticationCall>();
  call->backend = backend_;
  const bridge::RequestHead& head = request.head;
  call->request = AuthRequest{head.method,       head.path,       head.query,       head.headers,
                              head.peer_address, head.request_id, request.websocket};
  call->credential = request.Credential();
  Status status = RunOnPool(runtime_, call, "the authentication backend", request.cancellation);
  if (!status.ok()) {
    warn_(RequestLabel(head) + "the authentication backend did not answer: " + status.ToString());
    return Refusal{Refusal::Kind::kUnavailable, "authentication did not answer"};
  }
  if (!call->fault.empty()) {
    warn_(RequestLabel(head) + "the authentication backend failed: " + call->fault);
  }
  for (const auto& [name, value] : call->response.headers()) {
    if (IsHeader(name, value)) {
      headers.emplace_back(name, value);
    } else {
      warn_("the authentication backend set a header that cannot be sent");
    }
  }
  if (!call->refusal) user = std::move(call->user);
  return std::move(call->refusal);
}

CustomAuthorizer::CustomAuthorizer(std::shared_ptr<AuthorizationBackend> backend,
                                   runtime::Runtime& runtime, Warn warn)
    : backend_(std::move(backend)),
      runtime_(runtime),
      warn_(std::move(warn)),
      evictions_(std::make_shared<Evictions>(backend_, runtime_, warn_)) {}

Decision CustomAuthorizer::Decide(const Question& question) {
  auto call = std::make_shared<AuthorizationCall>();
  call->backend = backend_;
  call->user = question.user;
  call->permission = question.permission;
  if (!question.resource_id.empty()) call->resource_id = question.resource_id;
  call->context = {{"method", question.head.method},
                   {"path", question.head.path},
                   {"request_id", question.head.request_id}};
  if (question.config != nullptr) call->context["config"] = *question.config;
  Status status = RunOnPool(runtime_, call, "the authorization backend", question.cancellation);
  if (!status.ok()) {
    warn_(RequestLabel(question.head) +
          "the authorization backend did not answer: " + status.ToString());
    Decision decision;
    decision.refusal = NotAuthorized(question.permission);
    decision.failed = true;
    return decision;
  }
  if (!call->fault.empty()) {
    warn_(RequestLabel(question.head) + "the authorization backend failed: " + call->fault);
  }
  Decision decision = std::move(call->decision);
  if (!decision.refusal && decision.isolate_by_owner && question.user_id.empty() &&
      TouchesRows(question)) {
    decision.refusal = NotAuthorized(question.permission);
  }
  return decision;
}

void CustomAuthorizer::Evict(const std::string& thread_id) {
  evictions_->Add(thread_id);
}

void CustomAuthorizer::StopEvicting() {
  evictions_->Stop();
}

void CloseBackend(const std::shared_ptr<AuthorizationBackend>& backend, uint64_t bytes_max,
                  Deadline deadline, const Warn& warn) {
  runtime::Promise<std::string> closed;
  std::thread thread;
  Status started = runtime::StartThread(thread, "close", [backend, bytes_max, closed] {
    const AllocationScope scope(bytes_max);
    std::string fault;
    try {
      backend->Close();
    } catch (...) {
      fault = CaughtUserFailure().text;
    }
    closed.Set(std::move(fault));
  });
  if (!started.ok()) return warn("close of the authorization backend: " + started.ToString());
  Result<std::string> fault = closed.Wait(nullptr, deadline);
  if (!fault.ok()) {
    thread.detach();
    return warn("close of the authorization backend does not return");
  }
  thread.join();
  if (!fault->empty()) warn("close of the authorization backend failed: " + *fault);
}

}  // namespace agent_graph::auth
