// Reasoning with several signatures in protocols that have room for one.
#include "facades/run/signed_reasoning.h"

#include <gtest/gtest.h>

#include <utility>

namespace agent_graph::facades {
namespace {

ReasoningBlock Block(std::string summary, std::string signature) {
  return {.summary = std::move(summary), .details = {}, .signature = std::move(signature)};
}

Message Thinking(std::vector<ReasoningBlock> blocks) {
  Message message = Message::Assistant("yes");
  for (ReasoningBlock& block : blocks) message.content.emplace_back(std::move(block));
  return message;
}

// The blocks as a client sends them back that has this text.
std::vector<std::pair<std::string, std::string>> SentBack(const Message& message,
                                                          const std::string& text) {
  std::vector<std::pair<std::string, std::string>> blocks;
  for (const ReasoningBlock& block :
       ReasoningSplitter().Split(Block(text, SignatureOf(message, text.size())))) {
    blocks.emplace_back(block.summary, block.signature);
  }
  return blocks;
}

using Blocks = std::vector<std::pair<std::string, std::string>>;

TEST(SignedReasoning, ASingleSignatureStaysAsItIs) {
  EXPECT_EQ(SignatureOf(Thinking({Block("hm", "anthropic:s")})), "anthropic:s");
  EXPECT_EQ(SignatureOf(Thinking({Block("hm", "")})), "");
  EXPECT_EQ(SignatureOf(Thinking({})), "");
  const Message redacted = Thinking({Block("", "anthropic-redacted:d")});
  EXPECT_EQ(SentBack(redacted, ""), (Blocks{{"", "anthropic-redacted:d"}}));
}

TEST(SignedReasoning, EachBlockComesBackWithItsOwnSignature) {
  const Message message = Thinking({Block("grün", "anthropic:a"), Block("", "anthropic-redacted:b"),
                                    Block("blau", "c"), Block("!", "")});
  EXPECT_EQ(
      SentBack(message, "grünblau!"),
      (Blocks{{"grün", "anthropic:a"}, {"", "anthropic-redacted:b"}, {"blau", "c"}, {"!", ""}}));
}

TEST(SignedReasoning, TextBehindTheReasoningIsNoPartOfIt) {
  EXPECT_EQ(SentBack(Thinking({Block("hm", "s")}), "hm\ncalculator {}\n"), (Blocks{{"hm", "s"}}));
}

TEST(SignedReasoning, ASignatureWithoutItsTextIsLeftOut) {
  const std::string value =
      SignatureOf(Thinking({Block("one", "a"), Block("", "b"), Block("two", "c")}));
  const auto split = [&](const std::string& text) {
    std::string found;
    for (const ReasoningBlock& block : ReasoningSplitter().Split(Block(text, value))) {
      found += block.summary + '=' + block.signature + ' ';
    }
    return found;
  };
  EXPECT_EQ(split(""), "=b ");
  EXPECT_EQ(split("one"), "one=a =b ");
  EXPECT_EQ(split("onetw"), "one=a =b ");
}

TEST(SignedReasoning, AValueThatIsNoneOfOursKeepsTheText) {
  for (const char* value : {"blocks:", "blocks:{}", "blocks:[]", "blocks:[1]",
                            "blocks:[[-1,\"x\"]]", "blocks:[[1,\"x\"]", "blocks:[[1,2]]"}) {
    const std::vector<ReasoningBlock> blocks = ReasoningSplitter().Split(Block("hm", value));
    ASSERT_EQ(blocks.size(), 1u) << value;
    EXPECT_EQ(blocks[0].summary, "hm");
    EXPECT_EQ(blocks[0].signature, "");
  }
  // Not within a character.
  EXPECT_EQ(ReasoningSplitter().Split(Block("ü", "blocks:[[1,\"x\"],[1,\"y\"]]"))[0].signature, "");
  EXPECT_EQ(ReasoningSplitter().Split(Block("hm", "gAAAA"))[0].signature, "gAAAA");
}

// A value that names `count` blocks without texts.
std::string ValueOf(size_t count) {
  std::string value = "blocks:[[2,\"s\"]";
  for (size_t i = 1; i < count; ++i) value += ",[0,\"s\"]";
  return value + ']';
}

TEST(SignedReasoning, AValueWithTooManyBlocksIsOneBlock) {
  constexpr size_t kMax = ReasoningSplitter::kFurtherBlocksMax + 1;
  EXPECT_EQ(ReasoningSplitter().Split(Block("hm", ValueOf(kMax))).size(), kMax);
  const std::vector<ReasoningBlock> blocks =
      ReasoningSplitter().Split(Block("hm", ValueOf(kMax + 1)));
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].summary, "hm");
  EXPECT_EQ(blocks[0].signature, "");
}

TEST(SignedReasoning, TheBlocksOfAllValuesOfARequestAreBounded) {
  ReasoningSplitter splitter;
  size_t blocks = 0;
  for (int value = 0; value < 1000; ++value) {
    blocks += splitter.Split(Block("hm", ValueOf(300))).size();
  }
  EXPECT_LE(blocks, 1000 + ReasoningSplitter::kFurtherBlocksMax);
  // A single signature takes no more than its value.
  EXPECT_EQ(splitter.Split(Block("hm", ValueOf(1)))[0].signature, "s");
}

}  // namespace
}  // namespace agent_graph::facades
