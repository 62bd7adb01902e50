// Splits text into words, for word search and for hashing texts into vectors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace agent_graph {

// Calls `word` for each word in order. A word is a sequence of letters and digits of any script
// (UTF-8), in lower case (ASCII and Latin-1 only), cut after 64 bytes. Scripts without blanks
// between words: each ideograph and kana is a word. The view is valid only during the call.
void ForEachWord(std::string_view text, const std::function<void(std::string_view word)>& word);

// The form of a word that is hashed into vectors: without the regular English ending of the plural
// or the third person. "cities" becomes "citi", which is not the form of "city". Stored vectors
// depend on this, so a change needs another version in memory/hash_embedder.cc, and all memories
// must be embedded again.
std::string_view SearchForm(std::string_view word);

// The form of a word that word searches compare. The same for "city" and "cities", "movie" and
// "movies".
std::string WordForm(std::string_view word);

}  // namespace agent_graph
