#include "auth/guard.h"

#include <utility>

#include "agent_graph/json.h"
#include "auth/authenticator.h"
#include "auth/owner_cache.h"
#include "auth/user_code.h"

namespace agent_graph::auth {
namespace {

using settings::AuthenticationSettings;
using settings::AuthorizationSettings;

Refusal Forbidden(std::string message) {
  return Refusal{Refusal::Kind::kForbidden, std::move(message)};
}

void Stamp(json& user, const std::string& user_id, const Decision& decision) {
  json authz = {{"user_id", user_id},
                {"scope", decision.isolate_by_owner ? "owner" : "none"},
                {"scopes", nullptr}};
  if (decision.scopes) authz["scopes"] = *decision.scopes;
  user["authz"] = std::move(authz);
}

// The scopes that Stamp has stored.
Scopes GrantedScopes(const json& user) {
  const auto authz = user.find("authz");
  return authz != user.end() && authz->is_object() ? ScopesOfUser(*authz) : std::nullopt;
}

Result<JwtVerifier> MakeVerifier(const AuthenticationSettings& settings,
                                 const GuardOptions& options) {
  Result<JwtVerifier> verifier = JwtVerifier::Create(settings.jwt);
  if (verifier.ok() || !options.tolerate_lost_keys) return verifier;
  options.warn("no token can be verified: " + verifier.status().message());
  return JwtVerifier::WithoutKeys();
}

}  // namespace

struct Guard::Implementation {
  Implementation(const settings::Settings& settings_in, GuardOptions options_in)
      : settings(settings_in),
        options(std::move(options_in)),
        guarded(settings.authentication.method != AuthenticationSettings::Method::kNone) {}

  Status Build() {
    if (!guarded) return Status::Ok();
    AG_RETURN_IF_ERROR(BuildAuthenticator());
    return BuildAuthorizer();
  }

  Status BuildAuthenticator() {
    if (settings.authentication.method == AuthenticationSettings::Method::kJwt) {
      AG_ASSIGN_OR_RETURN(JwtVerifier verifier, MakeVerifier(settings.authentication, options));
      authenticator = std::make_unique<JwtAuthenticator>(std::move(verifier));
      return Status::Ok();
    }
    if (settings.authentication.method == AuthenticationSettings::Method::kNginx) {
      authenticator = std::make_unique<NginxAuthenticator>(settings.cors);
      return Status::Ok();
    }
    auto loaded = LoadAuthenticationBackend(settings.authentication.backend);
    if (!loaded.ok()) {
      return Status(StatusCode::kInvalidArgument, "auth.path: " + loaded.status().message());
    }
    if (options.runtime == nullptr) return Status::Ok();
    authenticator =
        std::make_unique<CustomAuthenticator>(*std::move(loaded), *options.runtime, options.warn);
    return Status::Ok();
  }

  Status BuildAuthorizer() {
    if (settings.authorization.policy == AuthorizationSettings::Policy::kCustom) {
      auto loaded = LoadAuthorizationBackend(settings.authorization.backend);
      if (!loaded.ok()) {
        return Status(StatusCode::kInvalidArgument, "authorization: " + loaded.status().message());
      }
      if (options.runtime == nullptr) return Status::Ok();
      backend = *std::move(loaded);
      authorizer = std::make_unique<CustomAuthorizer>(backend, *options.runtime, options.warn);
      return Status::Ok();
    }
    std::unique_ptr<SharedOwnerCache> shared;
    if (!settings.redis.url.empty()) {
      Result<net::RedisEndpoint> endpoint = net::ParseRedisUrl(settings.redis.url);
      if (!endpoint.ok()) {
        return Status(StatusCode::kInvalidArgument, "redis: " + endpoint.status().message());
      }
      shared = std::make_unique<SharedOwnerCache>(*std::move(endpoint), settings.redis.prefix,
                                                  options.warn);
    }
    owners = std::make_unique<OwnerLookup>(options.read_thread, std::move(shared), options.warn);
    authorizer = std::make_unique<PolicyAuthorizer>(settings.authorization, *owners);
    return Status::Ok();
  }

  const settings::Settings& settings;
  const GuardOptions options;
  const bool guarded;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<OwnerLookup> owners;  // null with a custom backend
  std::unique_ptr<Authorizer> authorizer;
  std::shared_ptr<AuthorizationBackend> backend;  // custom backend, closed by Close
};

std::shared_ptr<const json> NoClaims() {
  static const auto kNoClaims = std::make_shared<const json>(json::object());
  return kNoClaims;
}

Guard::Guard(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Guard::~Guard() = default;

Result<std::unique_ptr<Guard>> Guard::Create(const settings::Settings& settings,
                                             GuardOptions options) {
  auto implementation = std::make_unique<Implementation>(settings, std::move(options));
  AG_RETURN_IF_ERROR(implementation->Build());
  return std::unique_ptr<Guard>(new Guard(std::move(implementation)));
}

GuardOutcome Guard::Check(const GuardRequest& request) {
  GuardOutcome outcome;
  if (!implementation_->guarded) return outcome;
  if (implementation_->authenticator == nullptr || implementation_->authorizer == nullptr) {
    outcome.refusal = Refusal{Refusal::Kind::kInternal};
    return outcome;
  }
  json user = json::object();
  IncomingRequest incoming{request.head, request.cancellation, request.websocket,
                           &implementation_->options.bearer_protocols};
  outcome.refusal = implementation_->authenticator->Authenticate(incoming, user, outcome.headers);
  Caller& caller = outcome.caller;
  if (!outcome.refusal) caller.user_id = UserIdOf(user);
  if (request.admit) {
    if (Status admitted = request.admit(caller.user_id); !admitted.ok()) {
      outcome.refusal = Refusal{Refusal::Kind::kUnavailable, admitted.message()};
    }
  }
  if (outcome.refusal) return outcome;
  // A claim `authz` of the credential is removed: only the guard sets `user.authz`.
  user.erase("authz");
  Decision decision =
      implementation_->authorizer->Decide({.user = user,
                                           .user_id = caller.user_id,
                                           .permission = request.permission,
                                           .resource_id = request.resource_id,
                                           .head = request.head,
                                           .config = nullptr,
                                           .cancellation = request.cancellation,
                                           .thread_must_exist = request.thread_must_exist});
  if (decision.refusal) {
    outcome.refusal = Forbidden(*std::move(decision.refusal));
    return outcome;
  }
  if (decision.isolate_by_owner) caller.scope = state::Scope::Owner(caller.user_id);
  caller.remembered = decision.remembered;
  Stamp(user, caller.user_id, decision);
  caller.user = std::make_shared<const json>(std::move(user));
  return outcome;
}

std::optional<Refusal> Guard::CheckThread(const GuardRequest& request, const json& config,
                                          const std::string& thread_id, Caller& caller) {
  if (!implementation_->guarded) return std::nullopt;
  Decision decision =
      implementation_->authorizer->Decide({*caller.user, caller.user_id, request.permission,
                                           thread_id, request.head, &config, request.cancellation});
  if (decision.refusal) return Forbidden(*std::move(decision.refusal));
  caller.remembered = decision.remembered;
  return std::nullopt;
}

Status Guard::AuthorizeStored(const StoredCall& call) {
  if (!implementation_->guarded) return Status::Ok();
  if (implementation_->authorizer == nullptr) return Unavailable("no authorization is possible");
  json user = call.user.is_object() ? call.user : json::object();
  const Scopes granted = GrantedScopes(user);
  user.erase("authz");
  if (granted && !user.contains("scopes")) user["scopes"] = *granted;
  const bridge::RequestHead no_head;
  const Decision decision =
      implementation_->authorizer->Decide({user, call.user_id, call.permission, call.thread_id,
                                           no_head, &call.config, call.cancellation, granted});
  if (!decision.refusal) return Status::Ok();
  return Status(decision.failed ? StatusCode::kUnavailable : StatusCode::kPermissionDenied,
                *decision.refusal);
}

std::optional<Refusal> Guard::Confirm(const Permission& permission, const std::string& thread_id,
                                      const Caller& caller) {
  if (implementation_->owners == nullptr) return std::nullopt;
  switch (implementation_->owners->Read(caller.user_id, thread_id)) {
    case Ownership::kForeign:
    case Ownership::kFailed:
      return Forbidden(NotAuthorized(permission));
    default:
      return std::nullopt;
  }
}

void Guard::Evict(const std::string& thread_id) {
  if (implementation_->owners != nullptr) implementation_->owners->Evict(thread_id);
}

void Guard::Forget(const std::string& thread_id) {
  if (implementation_->owners != nullptr) implementation_->owners->Forget(thread_id);
  if (implementation_->authorizer != nullptr) implementation_->authorizer->Evict(thread_id);
}

void Guard::StopEvicting() {
  if (implementation_->authorizer != nullptr) implementation_->authorizer->StopEvicting();
}

void Guard::Close(Deadline deadline) {
  if (implementation_->backend == nullptr) return;
  const GuardOptions& options = implementation_->options;
  CloseBackend(implementation_->backend, options.runtime->function_bytes_max(), deadline,
               options.warn);
}

}  // namespace agent_graph::auth
