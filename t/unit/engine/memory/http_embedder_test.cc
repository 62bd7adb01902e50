#include "memory/http_embedder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>

#include "../net/on_fiber.h"
#include "../net/scripted_server.h"
#include "agent_graph/json.h"

namespace agent_graph::memory {
namespace {

using testing::Connection;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedServer;

std::string Reply(const std::string& status, const std::string& body,
                  const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

json BodyOf(const std::string& request) {
  return json::parse(request.substr(request.find("\r\n\r\n") + 4));
}

// Vectors that contain the length of their text; items in reverse order.
std::string Vectors(const json& request) {
  json data = json::array();
  for (size_t i = request["input"].size(); i-- > 0;) {
    data.push_back(
        {{"index", i}, {"embedding", {request["input"][i].get<std::string>().size(), 0.5}}});
  }
  return json{{"data", data}}.dump();
}

class HttpEmbedderTest : public testing::OnFiber {
 protected:
  Embedder& Make(const ScriptedServer& server) {
    EmbeddingOptions options;
    options.provider = "openai";
    options.model = "small";
    options.base_url = server.url("/v1");
    options.api_key = "sk-secret";
    options.retries_max = 2;
    options.batch_max = 8;
    made_.push_back(*MakeEmbedder(options, {}));
    return *made_.back();
  }
  Result<std::vector<float>> Embed(Embedder& embedder, const std::string& text) {
    return Run([&] { return embedder.Embed(text, {}, kNoDeadline); });
  }

  using Answer = std::future<Result<std::vector<float>>>;

  // Embeds texts of 1 to `count` bytes at once; sets `all_asked` when all have been requested.
  std::vector<Answer> AskAll(Embedder& embedder, size_t count, std::promise<void>& all_asked) {
    auto asked = std::make_shared<std::atomic<size_t>>(0);
    std::vector<Answer> answers;
    for (size_t i = 1; i <= count; ++i) {
      auto promise = std::make_shared<std::promise<Result<std::vector<float>>>>();
      answers.push_back(promise->get_future());
      runtime_.Spawn([&embedder, &all_asked, count, asked, i, promise] {
        if (++*asked == count) all_asked.set_value();
        promise->set_value(embedder.Embed(std::string(i, 'x'), {}, kNoDeadline));
      });
    }
    return answers;
  }

 private:
  // They must outlive the fibers that send requests for them.
  std::vector<std::unique_ptr<Embedder>> made_;
};

TEST_F(HttpEmbedderTest, AsksOnceForATextAndRemembersItsVector) {
  std::atomic<int> requests{0};
  ScriptedServer server([&](Connection& connection) {
    while (auto request = connection.ReadRequest()) {
      ++requests;
      EXPECT_THAT(*request, HasSubstr("POST /v1/embeddings HTTP/1.1"));
      EXPECT_THAT(*request, HasSubstr("Authorization: Bearer sk-secret"));
      EXPECT_EQ(BodyOf(*request)["model"], "small");
      connection.Send(Reply("200 OK", Vectors(BodyOf(*request))));
    }
  });
  Embedder& embedder = Make(server);
  for (int i = 0; i < 2; ++i) {
    auto vector = Embed(embedder, "hello");
    ASSERT_TRUE(vector.ok()) << vector.status().ToString();
    EXPECT_THAT(*vector, ElementsAre(5, 0.5));
  }
  EXPECT_EQ(requests, 1);
  EXPECT_EQ(embedder.space(), "openai:small");
}

TEST_F(HttpEmbedderTest, WaitingTextsAreSentTogether) {
  std::promise<void> all_wait;
  std::shared_future<void> go(all_wait.get_future());
  std::atomic<size_t> largest{0};
  std::atomic<int> requests{0};
  ScriptedServer server([&](Connection& connection) {
    while (auto request = connection.ReadRequest()) {
      ++requests;
      const json body = BodyOf(*request);
      largest = std::max<size_t>(largest, body["input"].size());
      go.wait();
      connection.Send(Reply("200 OK", Vectors(body)));
    }
  });
  Embedder& embedder = Make(server);
  std::vector<Answer> answers = AskAll(embedder, 20, all_wait);
  for (size_t i = 1; i <= 20; ++i) {
    auto vector = answers[i - 1].get();
    ASSERT_TRUE(vector.ok()) << vector.status().ToString();
    EXPECT_THAT(*vector, ElementsAre(i, 0.5));
  }
  EXPECT_LE(largest, 8u);
  EXPECT_LT(requests, 20);
}

TEST_F(HttpEmbedderTest, ATextThatIsRefusedFailsAlone) {
  constexpr size_t kPoison = 5;
  for (const char* refusal : {"400 Bad Request", "413 Content Too Large", "422 Unprocessable"}) {
    std::promise<void> all_wait;
    std::shared_future<void> go(all_wait.get_future());
    std::atomic<size_t> largest{0};
    ScriptedServer server([&](Connection& connection) {
      while (auto request = connection.ReadRequest()) {
        const json body = BodyOf(*request);
        largest = std::max<size_t>(largest, body["input"].size());
        go.wait();
        const bool poisoned = std::ranges::any_of(body["input"], [](const json& text) {
          return text.get_ref<const std::string&>().size() == kPoison;
        });
        connection.Send(poisoned ? Reply(refusal, "{}") : Reply("200 OK", Vectors(body)));
      }
    });
    Embedder& embedder = Make(server);
    std::vector<Answer> answers = AskAll(embedder, 20, all_wait);
    for (size_t i = 1; i <= 20; ++i) {
      auto vector = answers[i - 1].get();
      if (i == kPoison) {
        EXPECT_EQ(vector.status().code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(vector.status().message(), HasSubstr("refuses the text"));
      } else {
        EXPECT_TRUE(vector.ok()) << i << ": " << vector.status().ToString();
      }
    }
    EXPECT_GT(largest, 1u);
  }
}

// A model takes a number of tokens, which a dense text reaches with fewer bytes.
TEST_F(HttpEmbedderTest, ATextThatIsRefusedIsSentAgainInPart) {
  constexpr size_t kWholeBytes = 24 * 1024;
  constexpr size_t kPartBytes = 8 * 1024;
  std::atomic<size_t> taken_bytes{10'000};
  std::atomic<size_t> requests{0};
  std::array<std::atomic<size_t>, 5> sizes{};
  ScriptedServer server([&](Connection& connection) {
    while (auto request = connection.ReadRequest()) {
      const json body = BodyOf(*request);
      const size_t size = body["input"].at(0).get<std::string>().size();
      sizes.at(requests++) = size;
      connection.Send(size > taken_bytes ? Reply("400 Bad Request", "{}")
                                         : Reply("200 OK", Vectors(body)));
    }
  });
  Embedder& embedder = Make(server);
  // Two bytes for each character: the text is cut between characters.
  std::string text = "x";
  while (text.size() < 2 * kWholeBytes) text += "\u00e4";
  auto vector = Embed(embedder, text);
  ASSERT_TRUE(vector.ok()) << vector.status().ToString();
  EXPECT_THAT(*vector, ElementsAre(kPartBytes - 1, 0.5));
  EXPECT_EQ(requests, 2u);
  EXPECT_EQ(sizes[0], kWholeBytes - 1);
  EXPECT_EQ(sizes[1], kPartBytes - 1);

  taken_bytes = 10;
  EXPECT_EQ(Embed(embedder, text).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Embed(embedder, "a short text").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(requests, 5u) << "a short text is sent once";
}

TEST_F(HttpEmbedderTest, RetriesTransientErrors) {
  std::atomic<int> requests{0};
  ScriptedServer server([&](Connection& connection) {
    while (auto request = connection.ReadRequest()) {
      if (++requests == 1) {
        connection.Send(Reply("429 Too Many Requests", "{}", "Retry-After: 0\r\n"));
      } else {
        connection.Send(Reply("200 OK", Vectors(BodyOf(*request))));
      }
    }
  });
  Embedder& embedder = Make(server);
  EXPECT_TRUE(Embed(embedder, "hello").ok());
  EXPECT_EQ(requests, 2);
}

TEST_F(HttpEmbedderTest, ErrorsNameTheReason) {
  struct Case {
    std::string reply;
    std::string text;
  };
  const std::vector<Case> cases = {
      {Reply("401 Unauthorized", R"({"error":"sk-secret is wrong"})"), "answered HTTP 401"},
      {Reply("404 Not Found", "{}"), "answered HTTP 404"},
      {Reply("200 OK", "<html>"), "did not answer with JSON"},
      {Reply("200 OK", R"({"data":[]})"), "did not answer with a vector for each text"},
      {Reply("200 OK", R"({"data":[{"embedding":[]}]})"), "sent something that is no vector"},
      {Reply("200 OK", R"({"data":[{"embedding":["x"]}]})"), "sent something that is no vector"},
  };
  for (const Case& expected : cases) {
    ScriptedServer server([&](Connection& connection) {
      while (connection.ReadRequest()) connection.Send(expected.reply);
    });
    Embedder& embedder = Make(server);
    const Status status = Embed(embedder, "hello").status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(expected.text));
    EXPECT_EQ(status.ToString().find("sk-secret"), std::string::npos);
  }
}

TEST_F(HttpEmbedderTest, AWaiterMayLeaveAndClosingEndsTheRequest) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.WaitUntilPeerCloses();
  });
  Embedder& embedder = Make(server);
  runtime::Cancellation cancellation;
  cancellation.Cancel(runtime::CancelReason::kClientGone);
  EXPECT_EQ(Run([&] { return embedder.Embed("a", cancellation, kNoDeadline); }).status().code(),
            StatusCode::kCancelled);
  embedder.Close();
  EXPECT_EQ(Embed(embedder, "b").status().code(), StatusCode::kCancelled);
}

TEST(VectorCache, EvictsTheLeastRecentlyUsed) {
  VectorCache cache;
  for (size_t i = 0; i < VectorCache::kEntriesMax; ++i) cache.Add(std::to_string(i), {1});
  ASSERT_NE(cache.Find("0"), nullptr);
  cache.Add("one more", {2});
  EXPECT_NE(cache.Find("0"), nullptr);
  EXPECT_EQ(cache.Find("1"), nullptr);
  EXPECT_NE(cache.Find("one more"), nullptr);
  cache.Add(std::string(VectorCache::kTextBytesMax + 1, 'x'), {3});
  EXPECT_EQ(cache.Find(std::string(VectorCache::kTextBytesMax + 1, 'x')), nullptr);
}

}  // namespace
}  // namespace agent_graph::memory
