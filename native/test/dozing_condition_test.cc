// SPDX-License-Identifier: Apache-2.0
#include "core/dozing_condition.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

namespace torchfeed {
namespace {

constexpr std::chrono::milliseconds kUntilAsleep{30};

class DozingConditions : public testing::Test {
 protected:
  bool wait(const bool& met, std::optional<DozingCondition::Clock::duration> limit = std::nullopt) {
    std::unique_lock<std::mutex> lock(mutex_);
    return condition_.wait(lock, limit, [&] { return met; });
  }

  void set(bool& met) {
    const std::lock_guard<std::mutex> lock(mutex_);
    met = true;
  }

  void set_and_tell(bool& met) {
    const std::lock_guard<std::mutex> lock(mutex_);
    met = true;
    condition_.changed();
  }

  std::mutex mutex_;
  DozingCondition condition_;
  bool one_ = false;
  bool other_ = false;
};

TEST_F(DozingConditions, AWaitThatIsOverDoesNotBegin) {
  one_ = true;
  EXPECT_TRUE(wait(one_, std::chrono::seconds(0)));
}

TEST_F(DozingConditions, AWaiterThatDozesLooksForItself) {
  std::thread waiter([&] { EXPECT_TRUE(wait(one_)); });
  set(one_);
  waiter.join();
}

TEST_F(DozingConditions, AWaiterThatSleepsIsWoken) {
  std::thread waiter([&] { EXPECT_TRUE(wait(one_)); });
  std::this_thread::sleep_for(kUntilAsleep);
  set_and_tell(one_);
  waiter.join();
}

TEST_F(DozingConditions, OfManyThatSleepThoseAreWokenThatNeedNotWait) {
  std::thread first([&] { EXPECT_TRUE(wait(one_)); });
  std::thread second([&] { EXPECT_TRUE(wait(other_)); });
  std::thread third([&] { EXPECT_TRUE(wait(one_)); });
  std::this_thread::sleep_for(kUntilAsleep);
  set_and_tell(one_);
  first.join();
  third.join();
  set_and_tell(other_);
  second.join();
}

TEST_F(DozingConditions, AWaiterWithoutNapsIsWoken) {
  DozingCondition without(false);
  std::thread waiter([&] {
    std::unique_lock<std::mutex> lock(mutex_);
    EXPECT_TRUE(without.wait(lock, std::nullopt, [&] { return one_; }));
  });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    one_ = true;
    without.changed();
  }
  waiter.join();
}

TEST_F(DozingConditions, AWaitEndsAtItsLimit) {
  EXPECT_FALSE(wait(one_, std::chrono::microseconds(10)));
  EXPECT_FALSE(wait(one_, kUntilAsleep));
}

TEST_F(DozingConditions, AWaiterThatSleepsSeesTheEndOfItsWait) {
  std::thread waiter([&] { EXPECT_TRUE(wait(one_, std::chrono::minutes(1))); });
  std::this_thread::sleep_for(kUntilAsleep);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    one_ = true;
    condition_.changed_now();
  }
  waiter.join();
}

}  // namespace
}  // namespace torchfeed
