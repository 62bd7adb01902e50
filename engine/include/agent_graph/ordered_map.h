// OrderedMap: the container of JSON objects. Members keep the order in which they were added.
//
// The order of a tool schema's properties influences models, and users expect to get their metadata
// back as they sent it. nlohmann::ordered_map keeps the order too, but finds a member by a linear
// search, so that reading an object of 100,000 members, which any client may send, takes seconds.
// OrderedMap keeps an index for objects of more than 16 members.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace agent_graph {

// Implements what nlohmann::basic_json needs from a map. References and iterators stay valid until
// their member is erased. Two maps are equal if they have the same members, in any order. Not
// thread-safe.
template <class Key, class T, class IgnoredLess = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, T>>>
class OrderedMap {
  using Members = std::list<std::pair<const Key, T>, Allocator>;

 public:
  using key_type = Key;
  using mapped_type = T;
  using value_type = typename Members::value_type;
  using size_type = typename Members::size_type;
  using difference_type = typename Members::difference_type;
  using reference = value_type&;
  using const_reference = const value_type&;
  using iterator = typename Members::iterator;
  using const_iterator = typename Members::const_iterator;
  using key_compare = std::equal_to<>;

  OrderedMap() = default;
  template <class It>
  OrderedMap(It first, It last) {
    insert(first, last);
  }
  OrderedMap(std::initializer_list<value_type> members)
      : OrderedMap(members.begin(), members.end()) {}
  OrderedMap(const OrderedMap& other) : members_(other.members_) { BuildIndex(); }
  OrderedMap(OrderedMap&& other) noexcept
      : members_(std::move(other.members_)), index_(std::move(other.index_)) {
    other.clear();
  }
  OrderedMap& operator=(OrderedMap other) noexcept {
    members_.swap(other.members_);
    index_.swap(other.index_);
    return *this;
  }
  ~OrderedMap() = default;

  iterator begin() noexcept { return members_.begin(); }
  iterator end() noexcept { return members_.end(); }
  const_iterator begin() const noexcept { return members_.begin(); }
  const_iterator end() const noexcept { return members_.end(); }
  const_iterator cbegin() const noexcept { return members_.begin(); }
  const_iterator cend() const noexcept { return members_.end(); }
  bool empty() const noexcept { return members_.empty(); }
  size_type size() const noexcept { return members_.size(); }
  size_type max_size() const noexcept { return members_.max_size(); }
  void clear() noexcept {
    index_.reset();
    members_.clear();
  }

  iterator find(std::string_view key) { return Find(members_, key); }
  const_iterator find(std::string_view key) const { return Find(members_, key); }
  size_type count(std::string_view key) const { return find(key) == end() ? 0 : 1; }

  T& at(std::string_view key) { return At(*this, key); }
  const T& at(std::string_view key) const { return At(*this, key); }
  T& operator[](std::string_view key) { return emplace(key, T{}).first->second; }
  const T& operator[](std::string_view key) const { return at(key); }

  // Appends a member, unless the key already exists.
  template <class KeyType, class Value>
  std::pair<iterator, bool> emplace(KeyType&& key, Value&& value) {
    if (iterator found = find(key); found != end()) return {found, false};
    members_.emplace_back(Key(std::forward<KeyType>(key)), std::forward<Value>(value));
    iterator added = std::prev(members_.end());
    if (index_ != nullptr) {
      index_->emplace(added->first, added);
    } else {
      BuildIndex();
    }
    return {added, true};
  }
  std::pair<iterator, bool> insert(const value_type& member) {
    return emplace(member.first, member.second);
  }
  std::pair<iterator, bool> insert(value_type&& member) {
    return emplace(member.first, std::move(member.second));
  }
  template <class It>
  void insert(It first, It last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }

  iterator erase(iterator position) {
    if (index_ != nullptr) index_->erase(position->first);
    return members_.erase(position);
  }
  iterator erase(iterator first, iterator last) {
    while (first != last) first = erase(first);
    return last;
  }
  size_type erase(std::string_view key) {
    iterator found = find(key);
    if (found == end()) return 0;
    erase(found);
    return 1;
  }

  friend bool operator==(const OrderedMap& a, const OrderedMap& b) {
    if (a.size() != b.size()) return false;
    for (const value_type& member : a) {
      const_iterator other = b.find(member.first);
      if (other == b.end() || !(other->second == member.second)) return false;
    }
    return true;
  }
  // For sorting: compares the members sorted by key, so that equal maps are equivalent.
  friend std::partial_ordering operator<=>(const OrderedMap& a, const OrderedMap& b) {
    Sorted sorted_a = Sort(a);
    Sorted sorted_b = Sort(b);
    return std::lexicographical_compare_three_way(
        sorted_a.begin(), sorted_a.end(), sorted_b.begin(), sorted_b.end(),
        [](const auto& x, const auto& y) -> std::partial_ordering {
          if (x.first != y.first) return x.first <=> y.first;
          return *x.second <=> *y.second;
        });
  }

 private:
  using Index = std::map<std::string_view, iterator>;  // its keys point into members_

  static constexpr size_type kMembersWithoutIndex = 16;

  template <class List>
  auto Find(List& members, std::string_view key) const -> decltype(members.begin()) {
    if (index_ != nullptr) {
      auto found = index_->find(key);
      if (found == index_->end()) return members.end();
      return found->second;
    }
    auto member = members.begin();
    while (member != members.end() && member->first != key) ++member;
    return member;
  }

  template <class Map>
  static auto& At(Map& map, std::string_view key) {
    auto found = map.find(key);
    if (found == map.end()) throw std::out_of_range("key not found");
    return found->second;
  }

  void BuildIndex() {
    if (members_.size() <= kMembersWithoutIndex) return;
    index_ = std::make_unique<Index>();
    for (iterator member = members_.begin(); member != members_.end(); ++member) {
      index_->emplace(member->first, member);
    }
  }

  using Sorted = std::map<std::string_view, const T*>;
  static Sorted Sort(const OrderedMap& map) {
    Sorted sorted;
    for (const value_type& member : map) sorted.emplace(member.first, &member.second);
    return sorted;
  }

  Members members_;
  std::unique_ptr<Index> index_;  // null for few members; kept when members are erased
};

}  // namespace agent_graph
