// The words of a text, for search by words and for hashing texts into vectors.
#pragma once

#include <functional>
#include <string_view>

namespace agent_graph {

// Calls `word` for each word in order: letters and digits of any script (UTF-8), in lower case as
// far as ASCII and Latin-1 go, cut after 64 bytes. Ideographs and kana, which are written without
// blanks, are words of one character. The view is good for the time of the call.
void ForEachWord(std::string_view text, const std::function<void(std::string_view word)>& word);

// A word as it is compared in searches: without the plain English ending of plural or third person.
std::string_view SearchForm(std::string_view word);

}  // namespace agent_graph
