#include "auth/user_code.h"

#include <gtest/gtest.h>

#include <future>

#include "agent_graph/json.h"
#include "runtime/signal.h"

namespace agent_graph::auth {
namespace {

class SlowToForget : public AuthorizationBackend {
 public:
  bool Authorize(const json&, const std::string&, const std::string&,
                 const std::optional<std::string>&, const json&) override {
    return true;
  }
  void Evict(const std::string&) override {
    forgetting.Set(true);
    released.wait();
  }

  runtime::Promise<bool> forgetting;
  std::promise<void> release;
  std::shared_future<void> released{release.get_future()};
};

TEST(CustomAuthorizer, DecidesWhileItsBackendForgetsThreads) {
  runtime::RuntimeOptions options;
  options.auth_threads_max = 1;
  runtime::Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  auto backend = std::make_shared<SlowToForget>();
  CustomAuthorizer authorizer(backend, runtime, [](const std::string&) {});
  authorizer.Evict("t");
  ASSERT_TRUE(backend->forgetting.Wait(nullptr, kNoDeadline).ok());

  const json user = {{"user_id", "alice"}};
  const std::string user_id = "alice";
  const std::string thread_id = "t";
  const bridge::RequestHead head;
  const runtime::Cancellation cancellation;
  const Decision decision = authorizer.Decide(
      {user, user_id, {Resource::kGraph, Action::kInvoke}, thread_id, head, nullptr, cancellation});
  EXPECT_FALSE(decision.refusal) << *decision.refusal;
  backend->release.set_value();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

}  // namespace
}  // namespace agent_graph::auth
