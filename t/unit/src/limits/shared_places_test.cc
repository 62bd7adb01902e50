#include "limits/shared_places.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "../../engine/net/on_fiber.h"
#include "../../engine/net/redis_server.h"

namespace agent_graph::limits {
namespace {

using agent_graph::testing::RedisServer;

class SharedPlacesTest : public agent_graph::testing::OnFiber {
 protected:
  PlaceLimitOptions Options(const std::string& url, uint32_t max) {
    PlaceLimitOptions options;
    options.max = max;
    options.backend = PlaceLimitOptions::Backend::kRedis;
    options.redis_url = url;
    return options;
  }
  std::unique_ptr<SharedPlaces> Make(const PlaceLimitOptions& options) {
    return SharedPlaces::Create(options, [](const std::string&) {}).value();
  }
  bool Take(SharedPlaces& places) {
    return Run([&] { return places.Take(); });
  }
};

TEST_F(SharedPlacesTest, WorkersShareATotal) {
  RedisServer server;
  const PlaceLimitOptions options = Options(server.Url(), 3);
  const auto one = Make(options);
  const auto other = Make(options);
  EXPECT_TRUE(Take(*one));
  EXPECT_TRUE(Take(*other));
  EXPECT_TRUE(Take(*one));
  EXPECT_FALSE(Take(*one));
  EXPECT_FALSE(Take(*other));
}

TEST_F(SharedPlacesTest, APlaceThatWasGivenBackIsFree) {
  RedisServer server;
  const PlaceLimitOptions options = Options(server.Url(), 1);
  const auto places = Make(options);
  ASSERT_TRUE(Take(*places));
  {
    const SharedPlace place(*places);
    EXPECT_FALSE(Take(*places));
  }
  EXPECT_TRUE(Take(*places));
}

TEST_F(SharedPlacesTest, AReportThatComesLateDoesNotLowerTheNumber) {
  RedisServer server;
  const PlaceLimitOptions options = Options(server.Url(), 1);
  const auto one = Make(options);
  const auto other = Make(options);
  net::RedisLink link(net::ParseRedisUrl(options.redis_url).value(), "", "",
                      [](const std::string&) {});
  const auto execute = [&](const std::vector<std::string>& command) {
    EXPECT_TRUE(Run([&] { return link.Call(command); }).ok());
  };
  const std::vector<std::string> early = one->ReportCommand();
  ASSERT_TRUE(Take(*one));
  execute(early);
  EXPECT_FALSE(Take(*other));
  one->Release();
  execute(one->ReportCommand());
  EXPECT_TRUE(Take(*other));
}

TEST_F(SharedPlacesTest, WithoutRedisThereIsAPlace) {
  const PlaceLimitOptions options = Options("unix://" + RedisServer::NewSocketPath(), 1);
  const auto places = Make(options);
  EXPECT_TRUE(Take(*places));
  EXPECT_TRUE(Take(*places));
}

TEST_F(SharedPlacesTest, ACrowdThatWaitsForRedisGetsNoPlaces) {
  RedisServer server;
  const auto max = static_cast<uint32_t>(net::kRedisConnectionsMax + 1);
  const PlaceLimitOptions options = Options(server.Url(), max);
  const auto places = Make(options);
  server.Hang();
  std::vector<std::future<bool>> first;
  for (size_t i = 0; i < net::kRedisConnectionsMax; ++i) {
    auto taken = std::make_shared<std::promise<bool>>();
    first.push_back(taken->get_future());
    runtime_.Spawn([&places, taken] { taken->set_value(places->Take()); });
  }
  EXPECT_FALSE(Take(*places)) << "all connections are in use";
  server.GoOn();
  for (std::future<bool>& taken : first) EXPECT_TRUE(taken.get());
  EXPECT_TRUE(Take(*places)) << "the place that was refused is free";
  EXPECT_FALSE(Take(*places));
}

TEST_F(SharedPlacesTest, ATotalInMemoryNeedsNoRedis) {
  PlaceLimitOptions options = Options("", 5);
  options.backend = PlaceLimitOptions::Backend::kMemory;
  EXPECT_EQ(Make(options), nullptr);
}

}  // namespace
}  // namespace agent_graph::limits
