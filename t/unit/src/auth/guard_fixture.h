// A guard with settings and owners of threads that each test changes.
#pragma once

#include <gtest/gtest.h>

#include "auth/guard.h"
#include "auth/jwt.h"
#include "base/clock.h"
#include "owners.h"
#include "runtime/runtime.h"
#include "tokens.h"

namespace agent_graph::auth {

using settings::AuthenticationSettings;
using Kind = Refusal::Kind;

inline constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";
inline constexpr Permission kPermissions[] = {
    {Resource::kGraph, Action::kInvoke},        {Resource::kGraph, Action::kStream},
    {Resource::kGraph, Action::kStop},          {Resource::kGraph, Action::kFix},
    {Resource::kGraph, Action::kSetup},         {Resource::kGraph, Action::kRead},
    {Resource::kCheckpointer, Action::kRead},   {Resource::kCheckpointer, Action::kWrite},
    {Resource::kCheckpointer, Action::kDelete}, {Resource::kStore, Action::kRead},
    {Resource::kStore, Action::kWrite},         {Resource::kStore, Action::kDelete},
    {Resource::kFiles, Action::kUpload},        {Resource::kFiles, Action::kRead},
    {Resource::kConfig, Action::kRead}};

inline std::string Token(const json& claims) {
  json all = {{"user_id", "alice"}, {"exp", UnixSeconds() + 1000}};
  all.update(claims);
  return testing::HmacToken(all, kSecret);
}

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    settings_.authentication.method = AuthenticationSettings::Method::kJwt;
    settings_.authentication.jwt.algorithm = "HS256";
    settings_.authentication.jwt.secret = kSecret;
    head_.method = "GET";
    head_.path = "/v1/x";
    head_.request_id = "r-1";
  }

  Guard& Make() {
    GuardOptions options;
    options.read_thread = state_.Reader();
    options.runtime = &runtime_;
    options.warn = [this](const std::string& line) { warnings_.push_back(line); };
    Result<std::unique_ptr<Guard>> guard = Guard::Create(settings_, std::move(options));
    EXPECT_TRUE(guard.ok()) << guard.status().ToString();
    guard_ = std::move(guard).value();
    return *guard_;
  }

  GuardOutcome Check(const json& claims, Permission permission, const std::string& id = "",
                     bool websocket = false) {
    if (guard_ == nullptr) Make();
    if (!claims.is_null()) head_.headers = {{"authorization", "Bearer " + Token(claims)}};
    return guard_->Check({head_, cancellation_, permission, id, websocket});
  }

  // The text of the refusal, or the caller's scope.
  static std::string ResultOf(const GuardOutcome& outcome) {
    if (outcome.refusal) return outcome.refusal->message;
    bool all = outcome.caller.scope.kind == state::Scope::Kind::kAll;
    return all ? "all" : "owner " + outcome.caller.scope.user_id;
  }

  runtime::Runtime runtime_{{}};
  settings::Settings settings_;
  testing::Owners state_;
  bridge::RequestHead head_;
  runtime::Cancellation cancellation_;
  std::vector<std::string> warnings_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace agent_graph::auth
