// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device/fake_device.h"
#include "group/device_backend.h"
#include "group/rank_threads.h"
#include "torchfeed/process_group.h"
#include "torchfeed/reducer.h"
#include "torchfeed/work.h"

namespace torchfeed {
namespace {

using testing::device_of;
using testing::DeviceBackend;
using testing::DeviceState;
using testing::Exchange;
using testing::expect_error;
using testing::on_device;
using testing::on_device_ranks;
using testing::on_ranks;
using testing::ThreadBackend;

const bool kRunning = [] {
  fake::be_accelerator();
  fake::run_by_thread(7);
  return true;
}();

TEST(DeviceGroup, WithoutABackendOfTheDeviceTensorsGoThroughHostMemory) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const auto rank = static_cast<double>(group.rank());
    at::Tensor tensor = on_device(group, at::full({3}, 1 + rank, at::kFloat));
    group.all_reduce(tensor, ProcessGroup::kMean);
    EXPECT_TRUE(at::equal(at::full({3}, 1.5, at::kFloat), tensor.cpu()));
    tensor = on_device(group, at::full({2}, 7 + group.rank(), at::kLong));
    group.broadcast(tensor, 1);
    EXPECT_TRUE(at::equal(at::full({2}, 8, at::kLong), tensor.cpu()));
    const auto gathered = group.all_gather(on_device(group, at::full({2}, group.rank(), at::kInt)));
    EXPECT_EQ(device_of(group.rank()), gathered->result(0).device());
    EXPECT_TRUE(
        at::equal(at::tensor({0, 0, 1, 1}, at::kInt).view({2, 2}), gathered->result(0).cpu()));
    const at::Tensor strided = on_device(group, at::zeros({2, 3})).t();
    group.all_reduce(strided, ProcessGroup::kSum);
    EXPECT_TRUE(at::equal(at::zeros({3, 2}), strided.cpu()));
  });
}

TEST(DeviceGroup, ItsBackendGetsTensorsOfTheDeviceAndTheOtherThoseOfTheHost) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    const at::Tensor on_host = at::ones({2});
    group.all_reduce(on_host, ProcessGroup::kSum);
    EXPECT_TRUE(at::equal(at::full({2}, 2., at::kFloat), on_host));
    EXPECT_EQ(0, state.operations);
    const at::Tensor tensor = on_device(group, at::ones({2}));
    group.all_reduce(tensor, ProcessGroup::kMean);
    EXPECT_TRUE(at::equal(at::ones({2}), tensor.cpu()));
    const auto gathered = group.all_gather(tensor);
    EXPECT_TRUE(at::equal(at::ones({2, 2}), gathered->result(0).cpu()));
    EXPECT_EQ(2, state.operations);
    group.barrier();
    EXPECT_EQ(2, state.operations);
  });
}

TEST(DeviceGroup, AnOperationEndsWhenTheDeviceHasDoneIt) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    state.is_done = false;
    const auto work = group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum,
                                       ProcessGroup::kAsynchronous);
    while (state.operations == 0) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(work->await(20));
    state.is_done = true;
    EXPECT_TRUE(work->await(-1));
  });
}

TEST(DeviceGroup, AnOperationRunsAfterTheCallersStreamOfTheGroupsDevice) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    const c10::Stream stream = fake::new_stream(static_cast<int8_t>(group.rank()));
    const c10::impl::VirtualGuardImpl device(c10::kPrivateUse1);
    device.exchangeStream(stream);
    device.setDevice(device_of(1 - group.rank()));
    const at::Tensor tensor = on_device(group, at::ones({2}));
    EXPECT_TRUE(
        group.all_reduce(tensor, ProcessGroup::kSum, ProcessGroup::kAsynchronous)->await(-1));
    EXPECT_EQ(stream.id(), state.stream);
  });
}

TEST(DeviceGroup, NcclConnectsWhenTheRanksJoinUnlessAskedOtherwise) {
  setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "1", 1);
  ProcessGroup::prepare_nccl();
  EXPECT_STREQ("0", getenv("NCCL_RUNTIME_CONNECT"));
  EXPECT_STREQ("0", getenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"));
  EXPECT_STREQ("1", getenv("TORCH_NCCL_DUMP_ON_TIMEOUT"));
}

TEST(DeviceGroup, ClosingEndsTheBackendFromAThreadOfItsDevice) {
  const auto states = on_device_ranks([](ProcessGroup& group, auto&) {
    group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum);
  });
  for (const auto& state : states) {
    EXPECT_EQ(1, state->shutdowns);
  }
}

TEST(DeviceGroup, AFailureOnTheDeviceIsTyped) {
  const std::vector<std::pair<ErrorCode, std::string>> failures = {
      {ErrorCode::kPeerLost, "NCCL error: ncclRemoteError: A call failed"},
      {ErrorCode::kTimeout, "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)"},
      {ErrorCode::kInternal, "CUDA error: an illegal memory access was encountered"}};
  for (const auto& failure : failures) {
    on_device_ranks([&](ProcessGroup& group, DeviceState& state) {
      state.is_done = false;
      {
        const std::lock_guard lock(state.mutex);
        state.failure = std::make_exception_ptr(std::runtime_error(failure.second));
      }
      expect_error(failure.first, failure.second,
                   [&] { group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum); });
    });
  }
}

TEST(DeviceGroup, AbortEndsWhatTheDeviceHasNotDone) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    state.is_done = false;
    const auto work = group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum,
                                       ProcessGroup::kAsynchronous);
    while (state.operations == 0) {
      std::this_thread::yield();
    }
    group.abort();
    expect_error(ErrorCode::kIllegalState, "ProcessGroup was aborted", [&] { work->await(-1); });
    while (state.aborts == 0) {
      std::this_thread::yield();
    }
    expect_error(ErrorCode::kIllegalState, "ProcessGroup was aborted",
                 [&] { group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum); });
  });
}

TEST(DeviceGroup, ATensorOfAnotherDeviceIsRefusedByAllRanks) {
  on_device_ranks([](ProcessGroup& group, auto&) {
    const at::Tensor other = at::ones({2}).to(device_of(1));
    const at::Tensor mine = group.rank() == 0 ? other : on_device(group, at::ones({2}));
    expect_error(ErrorCode::kInvalidArgument,
                 group.rank() == 0 ? "must be on cpu or privateuseone:0, with which the group was "
                                     "joined, got one on privateuseone:1"
                                   : "rank 0 rejected its own arguments",
                 [&] { group.all_reduce(mine, ProcessGroup::kSum); });
    expect_error(ErrorCode::kInvalidArgument, "on one device, got cpu and privateuseone:", [&] {
      group.all_reduce_coalesced({at::ones({2}), on_device(group, at::ones({2}))},
                                 ProcessGroup::kSum);
    });
  });
}

TEST(DeviceGroup, ACallFromAHostAndOneFromADeviceAreRefused) {
  on_device_ranks([](ProcessGroup& group, auto&) {
    const at::Tensor tensor = group.rank() == 0 ? at::ones({2}) : on_device(group, at::ones({2}));
    expect_error(ErrorCode::kInvalidArgument,
                 "rank 0 calls all-reduce (sum) of Float [2], rank 1 calls all-reduce (sum) of "
                 "Float [2] on its device",
                 [&] { group.all_reduce(tensor, ProcessGroup::kSum); });
  });
}

TEST(DeviceGroup, ASecondBackendIsRefused) {
  on_device_ranks([](ProcessGroup& group, auto&) {
    auto backend = c10::make_intrusive<ThreadBackend>(std::make_shared<Exchange>(2), 0, 2);
    expect_error(ErrorCode::kIllegalState, "the group has a backend for privateuseone:", [&] {
      group.use_device(reinterpret_cast<int64_t>(backend.get()), "privateuseone:0");
    });
    expect_error(ErrorCode::kIllegalState, "device mtia:0: ", [&] {
      group.use_device(reinterpret_cast<int64_t>(backend.get()), "mtia:0");
    });
  });
}

/// One layer and a buffer, on a device.
struct Model {
  explicit Model(c10::Device device)
      : weight((at::arange(24, at::kFloat).view({6, 4}) * 0.01).to(device).requires_grad_(true)),
        bias((at::arange(6, at::kFloat) * 0.1).to(device).requires_grad_(true)),
        mean(at::zeros({3}).to(device)) {}

  [[nodiscard]] at::Tensor loss(const at::Tensor& rows) const {
    return at::tanh(at::matmul(rows.to(weight.device()), weight.t()) + bias).pow(2).mean();
  }

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(const ProcessGroup& group,
                                                        ReducerOptions options = {}) const {
    options.first_bucket_bytes = 16;
    options.bucket_bytes = 16;
    return GradientReducer::create(group, "weight\nbias\n", {weight, bias}, "mean\n", {mean},
                                   options);
  }

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor mean;
};

at::Tensor rows(int64_t from, int64_t count) {
  return at::sin(at::arange(200, at::kFloat).view({50, 4})).narrow(0, from, count);
}

/// Compares three steps on devices with the same steps on the host, over the whole batch.
void expect_gradients_of_the_combined_batch(ProcessGroup& group) {
  const Model model(device_of(group.rank()));
  at::Tensor mean = model.mean;
  const auto reducer = model.reduce(group);
  for (int64_t step = 0; step < 3; ++step) {
    const Model alone(at::kCPU);
    alone.loss(rows(step * 8, 8)).backward();
    model.weight.mutable_grad().reset();
    model.bias.mutable_grad().reset();
    mean.fill_(static_cast<double>(step + group.rank()));
    reducer->backward(model.loss(rows(step * 8 + group.rank() * 4, 4)));
    EXPECT_EQ(device_of(group.rank()), model.weight.grad().device());
    EXPECT_TRUE(at::allclose(alone.weight.grad(), model.weight.grad().cpu(), 1.3e-6, 1e-6));
    EXPECT_TRUE(at::allclose(alone.bias.grad(), model.bias.grad().cpu(), 1.3e-6, 1e-6));
    EXPECT_TRUE(at::equal(at::full({3}, static_cast<double>(step), at::kFloat), mean.cpu()));
  }
  EXPECT_EQ(3, reducer->reductions());
  EXPECT_EQ(2, reducer->bucket_count());
  EXPECT_EQ(96, reducer->bucket_bytes(reducer->bucket_count() - 1));
  EXPECT_TRUE(at::equal(at::arange(24, at::kFloat).view({6, 4}) * 0.01,
                        reducer->parameter_bytes(0).view(at::kFloat).view({6, 4})));
}

TEST(DeviceGroup, GradientsAreAveragedThroughHostMemory) {
  on_ranks(2, [](ProcessGroup& group, auto&) { expect_gradients_of_the_combined_batch(group); });
}

TEST(DeviceGroup, ADeviceIsRefusedOnceAReducerSendsThroughHostMemory) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const std::string device = device_of(group.rank()).str();
    group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum);
    group.check_device(device);
    const Model model(device_of(group.rank()));
    const auto reducer = model.reduce(group);
    const std::string reason = "a model of the group sends its gradients through host memory";
    expect_error(ErrorCode::kIllegalState, reason, [&] { group.check_device(device); });
    auto backend = c10::make_intrusive<ThreadBackend>(std::make_shared<Exchange>(2), 0, 2);
    expect_error(ErrorCode::kIllegalState, reason,
                 [&] { group.use_device(reinterpret_cast<int64_t>(backend.get()), device); });
    reducer->backward(model.loss(rows(0, 4)));
  });
}

TEST(DeviceGroup, GradientsAreAveragedBetweenDevices) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    expect_gradients_of_the_combined_batch(group);
    EXPECT_GE(state.operations, 3);
  });
}

TEST(DeviceGroup, GradientsOfDevicesAreExchangedInFloat16) {
  const auto apart = std::make_shared<Exchange>(2);
  on_ranks(2, [&](ProcessGroup& group, auto&) {
    auto backend = c10::make_intrusive<ThreadBackend>(apart, static_cast<int>(group.rank()), 2);
    const auto own = ProcessGroup::adopt(reinterpret_cast<int64_t>(backend.get()), group.rank(), 2);
    backend.reset();
    ReducerOptions options;
    options.exchange.kind = ExchangeOptions::kFloat16;
    const Model model(device_of(group.rank()));
    const auto reducer = model.reduce(group, options);
    reducer->exchange_over(*own);
    const Model alone(at::kCPU);
    alone.loss(rows(0, 8)).backward();
    reducer->backward(model.loss(rows(group.rank() * 4, 4)));
    EXPECT_TRUE(at::allclose(alone.weight.grad(), model.weight.grad().cpu(), 1e-2, 1e-4));
  });
}

TEST(DeviceGroup, OtherExchangesThanFloat16AndBFloat16AreRefused) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.exchange.kind = ExchangeOptions::kByteGrad;
    const Model model(device_of(group.rank()));
    expect_error(ErrorCode::kInvalidArgument, "takes gradients on cpu only, got parameter weight",
                 [&] { (void)model.reduce(group, options); });
  });
}

TEST(DeviceGroup, UnusedParametersAreNotSentDuringAnExchangeOfAnotherGroupOfTheDevice) {
  on_device_ranks([](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.exchange.kind = ExchangeOptions::kFloat16;
    options.find_unused_parameters = true;
    const Model model(device_of(group.rank()));
    expect_error(ErrorCode::kInvalidArgument, "findUnusedParameters takes only the exchange",
                 [&] { (void)model.reduce(group, options); });
    options.static_graph = true;
    EXPECT_TRUE(model.reduce(group, options)->needs_exchange_group());
  });
}

TEST(DeviceGroup, AModelOnSeveralDevicesIsRefused) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    Model model(device_of(0));
    model.mean = at::zeros({3});
    expect_error(ErrorCode::kInvalidArgument,
                 "on one device, got weight on privateuseone:0 and mean on cpu",
                 [&] { (void)model.reduce(group); });
    const Model mine(group.rank() == 0 ? c10::Device(at::kCPU) : device_of(1));
    expect_error(ErrorCode::kInvalidArgument,
                 "rank 0 has parameter weight: Float [6, 4]; rank 1 has parameter weight: Float "
                 "[6, 4], on privateuseone",
                 [&] { (void)mine.reduce(group); });
  });
}

TEST(DeviceGroup, OneRankNeedsNoBackend) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  const at::Tensor tensor = at::ones({2}).to(device_of(0));
  group->all_reduce(tensor, ProcessGroup::kSum);
  EXPECT_TRUE(at::equal(at::ones({2}), tensor.cpu()));
  const Model model(device_of(0));
  const Model alone(at::kCPU);
  const auto reducer = model.reduce(*group);
  reducer->backward(model.loss(rows(0, 4)));
  alone.loss(rows(0, 4)).backward();
  EXPECT_TRUE(at::allclose(alone.weight.grad(), model.weight.grad().cpu(), 1.3e-6, 1e-6));
}

TEST(DeviceGroup, OneRankMaySendThroughABackendOfItsDevice) {
  const auto state = std::make_shared<DeviceState>();
  auto backend = c10::make_intrusive<DeviceBackend>(std::make_shared<Exchange>(1), 0, 1, state);
  const auto group = ProcessGroup::adopt(0, 0, 1);
  group->use_device(reinterpret_cast<int64_t>(backend.get()), device_of(0).str());
  const at::Tensor tensor = at::full({2}, 3, at::kFloat).to(device_of(0));
  group->all_reduce(tensor, ProcessGroup::kSum);
  EXPECT_TRUE(at::equal(at::full({2}, 3, at::kFloat), tensor.cpu()));
  EXPECT_EQ(1, state->operations);
  const at::Tensor on_host = at::ones({2});
  group->all_reduce(on_host, ProcessGroup::kSum);
  EXPECT_TRUE(at::equal(at::ones({2}), on_host));
  EXPECT_EQ(1, state->operations);
}

}  // namespace
}  // namespace torchfeed
