#include "message/texts.h"

namespace agent_graph::message {

std::vector<std::string_view> Texts(const Message& message) {
  std::vector<std::string_view> texts;
  for (const ContentBlock& block : message.content) {
    const auto* text = std::get_if<TextBlock>(&block);
    if (text != nullptr && !text->text.empty()) texts.emplace_back(text->text);
  }
  return texts;
}

std::string JoinedTexts(const Message& message, std::string_view separator) {
  std::string joined;
  for (const std::string_view text : Texts(message)) {
    if (!joined.empty()) joined += separator;
    joined += text;
  }
  return joined;
}

}  // namespace agent_graph::message
