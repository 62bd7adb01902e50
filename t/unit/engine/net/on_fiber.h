// Runs the steps of a test on a fiber of an engine thread and waits for them.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::testing {

class OnFiber : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }
  void TearDown() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  template <typename Function>
  auto Run(Function function) {
    std::packaged_task<std::invoke_result_t<Function>()> task(std::move(function));
    auto result = task.get_future();
    auto shared = std::make_shared<decltype(task)>(std::move(task));
    runtime_.Spawn([shared] { (*shared)(); });
    return result.get();
  }

  runtime::Runtime runtime_{runtime::RuntimeOptions{}};
};

}  // namespace agent_graph::testing
