// Fixture for tests that every implementation of state::Service must pass.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fixture.h"
#include "state/service.h"

namespace agent_graph::state {

class ServiceTest : public testing::TestWithParam<OwnerOptions::Type> {
 protected:
  void SetUp() override {
    owner_ = StartOwner(directory_.path(), GetParam());
    client_ = StartClient(directory_.path());
  }

  Service& service() { return *client_; }
  ThreadState StateOf(const std::string& thread_id, const Scope& scope = Scope::All()) {
    Result<ThreadState> state = service().GetState(scope, thread_id);
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() ? *state : ThreadState();
  }
  StatusCode StateCode(const std::string& thread_id, const Scope& scope = Scope::All()) {
    return service().GetState(scope, thread_id).status().code();
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Owner> owner_;
  std::unique_ptr<Client> client_;
};

inline std::string OwnerTypeName(const testing::TestParamInfo<OwnerOptions::Type>& instance) {
  return instance.param == OwnerOptions::Type::kLevelDb ? "LevelDb" : "Memory";
}

inline const auto kOwnerTypes =
    testing::Values(OwnerOptions::Type::kLevelDb, OwnerOptions::Type::kMemory);

}  // namespace agent_graph::state
