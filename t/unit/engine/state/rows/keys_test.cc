#include "state/rows/keys.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>
#include <vector>

namespace agent_graph::state::keys {
namespace {

// Random text, with many of the bytes that are special for escaping and terminating.
class TextMaker {
 public:
  std::string Next() {
    static constexpr char kBytes[] = {'\x00', '\x01', '\xff', '\xfe', 'a', 'b', '/', '\x7f'};
    std::string text(random_() % 6, '\0');
    for (char& byte : text) byte = kBytes[random_() % sizeof kBytes];
    return text;
  }
  uint64_t NextInteger() { return random_() % 3 == 0 ? random_() : random_() % 300; }

 private:
  std::mt19937_64 random_{20240501};
};

constexpr int kRounds = 20'000;
constexpr Table kThreadTables[] = {Table::kCounters, Table::kSnapshot, Table::kWindow,
                                   Table::kLog,      Table::kMessage,  Table::kMessageId,
                                   Table::kLease,    Table::kLogCut};

int Sign(int value) {
  return (value > 0) - (value < 0);
}

TEST(Keys, SortAsTheirTuplesDo) {
  TextMaker make;
  for (int i = 0; i < kRounds; ++i) {
    const std::tuple a{make.Next(), make.NextInteger(), make.Next()};
    const std::tuple b{make.Next(), make.NextInteger(), make.Next()};
    const std::string key_a = MessageId({std::get<0>(a), std::get<1>(a)}, std::get<2>(a));
    const std::string key_b = MessageId({std::get<0>(b), std::get<1>(b)}, std::get<2>(b));
    EXPECT_EQ(Sign(key_a.compare(key_b)), a < b ? -1 : a == b ? 0 : 1);
  }
}

TEST(Keys, NoPrefixOfOneRowOwnerCoversAnother) {
  TextMaker make;
  for (int i = 0; i < kRounds; ++i) {
    const std::string mine = make.Next();
    const std::string other = make.Next();
    if (mine == other) continue;
    const std::string listing = ListingByOwnerPrefix(mine);
    EXPECT_FALSE(ListingByOwner(other, 1, make.Next()).starts_with(listing));
    const uint64_t number = make.NextInteger();
    for (Table table : kThreadTables) {
      const std::string prefix = ThreadPrefix(table, {mine, number});
      EXPECT_FALSE(ThreadPrefix(table, {other, make.NextInteger()}).starts_with(prefix));
      EXPECT_FALSE(prefix.starts_with(ThreadPrefix(table, {other, number})));
    }
  }
}

TEST(Keys, RangeOfAPrefixHoldsExactlyItsRows) {
  TextMaker make;
  for (int i = 0; i < kRounds; ++i) {
    const ThreadKey mine{make.Next(), make.NextInteger()};
    const ThreadKey other{make.Next(), make.NextInteger()};
    const std::string begin = ThreadPrefix(Table::kMessage, mine);
    const std::string end = PrefixEnd(begin);
    auto inside = [&](const std::string& key) { return key >= begin && key < end; };
    EXPECT_TRUE(inside(Message(mine, make.NextInteger())));
    EXPECT_EQ(inside(Message(other, make.NextInteger())), mine == other);
    EXPECT_FALSE(inside(LogEntry(mine, make.NextInteger())));
  }
}

TEST(Keys, ParseGivesBackWhatWasBuilt) {
  TextMaker make;
  for (int i = 0; i < kRounds; ++i) {
    const ThreadKey thread{make.Next(), make.NextInteger()};
    const std::string text = make.Next();
    const std::string message_key = MessageId(thread, text);
    Parser message(message_key, Table::kMessageId);
    EXPECT_EQ(message.Thread(), thread);
    EXPECT_EQ(message.Text(), text);
    EXPECT_TRUE(message.ok() && message.at_end());

    const auto micros = static_cast<int64_t>(make.NextInteger() >> 1);
    const std::string listing_key = ListingByOwner(thread.owner, micros, text);
    Parser listing(listing_key, Table::kListingByOwner);
    EXPECT_EQ(listing.Text(), thread.owner);
    EXPECT_EQ(listing.NewestFirst(), micros);
    EXPECT_EQ(listing.Text(), text);
    EXPECT_TRUE(listing.ok() && listing.at_end());
  }
}

TEST(Keys, NewestComesFirst) {
  EXPECT_LT(Listing(2'000'000, "a"), Listing(1'000'000, "a"));
  EXPECT_LT(ListingByOwner("u", 2, "a"), ListingByOwner("u", 1, "a"));
}

TEST(Keys, DamagedKeyIsNoticed) {
  const std::string key = Message({"owner", 7}, 8);
  Parser wrong_table(key, Table::kLog);
  EXPECT_FALSE(wrong_table.ok());
  for (size_t length = 0; length < key.size(); ++length) {
    Parser cut(std::string_view(key).substr(0, length), Table::kMessage);
    cut.Thread();
    cut.Integer();
    EXPECT_FALSE(cut.ok());
  }
}

TEST(Keys, PrefixEndCarries) {
  EXPECT_EQ(PrefixEnd(std::string("a\xff\xff")), "b");
  EXPECT_EQ(PrefixEnd("\xff"), "");
}

}  // namespace
}  // namespace agent_graph::state::keys
