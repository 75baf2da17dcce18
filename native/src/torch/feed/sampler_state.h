// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/data/samplers/distributed.h>
#include <torch/data/samplers/random.h>
#include <torch/data/samplers/sequential.h>

#include <cstddef>
#include <cstdint>

namespace torchfeed::detail {

// Access to the state that libtorch's samplers save and load. The public way is an archive, which
// costs a shuffle per seek and two checksummed copies of a random order, so the private members are
// named here instead. An explicit instantiation may name private members ([temp.spec]); if libtorch
// renames one, the build fails, not the program.
template <auto Member, class Sampler>
struct PositionAccess {
  friend auto& position_of(Sampler& sampler) { return sampler.*Member; }
};

template <auto Member>
struct OrderAccess {
  friend auto& order_of(torch::data::samplers::RandomSampler& sampler) { return sampler.*Member; }
};

// Declared in advance, so that the friends above are found and -Wnon-template-friend stays silent.
auto& position_of(torch::data::samplers::SequentialSampler& sampler);
auto& position_of(torch::data::samplers::RandomSampler& sampler);
auto& position_of(torch::data::samplers::DistributedSequentialSampler& sampler);
auto& position_of(torch::data::samplers::DistributedRandomSampler& sampler);
auto& order_of(torch::data::samplers::RandomSampler& sampler);

template struct PositionAccess<&torch::data::samplers::SequentialSampler::index_,
                               torch::data::samplers::SequentialSampler>;
template struct PositionAccess<&torch::data::samplers::RandomSampler::index_,
                               torch::data::samplers::RandomSampler>;
template struct PositionAccess<&torch::data::samplers::DistributedSequentialSampler::sample_index_,
                               torch::data::samplers::DistributedSequentialSampler>;
template struct PositionAccess<&torch::data::samplers::DistributedRandomSampler::sample_index_,
                               torch::data::samplers::DistributedRandomSampler>;
template struct OrderAccess<&torch::data::samplers::RandomSampler::indices_>;

}  // namespace torchfeed::detail
