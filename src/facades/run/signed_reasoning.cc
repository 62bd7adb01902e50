#include "facades/run/signed_reasoning.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/utf8.h"
#include "message/reader.h"

namespace agent_graph::facades {
namespace {

// Begins an opaque value with the signatures of several blocks: an array of pairs, each with the
// bytes of a block's text and the block's signature. Providers ignore a signature with a mark that
// is not theirs.
constexpr std::string_view kBlocksMark = "blocks:";

std::vector<const ReasoningBlock*> BlocksOf(const Message& message) {
  std::vector<const ReasoningBlock*> blocks;
  for (const ContentBlock& block : message.content) {
    if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) blocks.push_back(reasoning);
  }
  return blocks;
}

// Reads the pairs into blocks, with beginnings of `text`. Blocks whose text is missing are left
// out.
std::vector<ReasoningBlock> BlocksWith(std::string_view text, const json& pairs) {
  std::vector<ReasoningBlock> blocks;
  bool is_missing = false;
  for (const json& pair : pairs) {
    const bool is_pair =
        pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() && pair[1].is_string();
    if (!is_pair) return {};
    const auto bytes = pair[0].get<uint64_t>();
    const std::string_view own = text.substr(0, bytes);
    is_missing = is_missing || own.size() < bytes || !IsUtf8(own);
    if (is_missing && bytes > 0) continue;
    text.remove_prefix(bytes);
    blocks.push_back(
        {.summary = std::string(own), .details = {}, .signature = pair[1].get<std::string>()});
  }
  return blocks;
}

}  // namespace

std::string SignatureOf(const Message& message, size_t shown_bytes) {
  const std::vector<const ReasoningBlock*> blocks = BlocksOf(message);
  const auto is_signed = [](const ReasoningBlock* block) { return !block->signature.empty(); };
  if (std::ranges::none_of(blocks, is_signed)) return "";
  if (blocks.size() == 1 && blocks[0]->summary.size() == shown_bytes) return blocks[0]->signature;
  json pairs = json::array();
  for (const ReasoningBlock* block : blocks) {
    pairs.push_back(json::array({block->summary.size(), block->signature}));
  }
  return std::string(kBlocksMark) + DumpJson(pairs);
}

std::string SignatureOf(const Message& message) {
  return SignatureOf(message, message::ReasoningOfBlocks(message).size());
}

std::vector<ReasoningBlock> ReasoningSplitter::Split(ReasoningBlock joined) {
  std::vector<ReasoningBlock> blocks;
  if (joined.signature.starts_with(kBlocksMark)) {
    // The array, and for each block a pair and its members.
    const size_t pairs_max = 1 + kFurtherBlocksMax - further_blocks_;
    const Result<json> pairs =
        ParseJson(std::string_view(joined.signature).substr(kBlocksMark.size()),
                  {.depth_max = 2, .values_max = 1 + 3 * pairs_max});
    joined.signature.clear();
    if (pairs.ok() && pairs->is_array()) blocks = BlocksWith(joined.summary, *pairs);
  }
  if (blocks.empty()) blocks.push_back(std::move(joined));
  further_blocks_ += blocks.size() - 1;
  return blocks;
}

}  // namespace agent_graph::facades
