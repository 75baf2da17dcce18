// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.ArrayList;
import java.util.List;

/**
 * One of several plans that make up a larger one.
 *
 * @param plan the plan of the whole order of this source
 * @param firstIndex what is added to each of its indices, at least 0: the number of samples in the
 *     datasets before its own where datasets are concatenated, 0 where all plans are over one
 *     dataset
 */
public record Source(Sampler plan, long firstIndex) {
  /**
   * A source.
   *
   * @param plan the plan of the whole order of this source
   * @param firstIndex what is added to each of its indices, at least 0
   * @throws IllegalArgumentException if {@code firstIndex} is negative, or {@code plan} is one
   *     rank's plan
   */
  public Source {
    Orders.requireWhole(plan, "plan");
    if (firstIndex < 0) {
      throw new IllegalArgumentException("firstIndex must be at least 0, got " + firstIndex);
    }
  }

  /**
   * One source for each of several datasets that are concatenated, as PyTorch's {@code
   * ConcatDataset} numbers them.
   *
   * @param plans the plan of each dataset
   * @param datasetSizes the number of samples in each dataset, at least 0
   * @return the sources, in the order of the datasets
   * @throws IllegalArgumentException if the two lists differ in length, a size is negative, or the
   *     sum of the sizes is above 2<sup>62</sup>
   */
  public static List<Source> ofDatasets(List<? extends Sampler> plans, long... datasetSizes) {
    if (plans.size() != datasetSizes.length) {
      throw new IllegalArgumentException(
          "there must be one dataset size for each of the %d plans, got %d"
              .formatted(plans.size(), datasetSizes.length));
    }
    List<Source> sources = new ArrayList<>();
    long first = 0;
    for (int i = 0; i < datasetSizes.length; i++) {
      if (datasetSizes[i] < 0 || datasetSizes[i] > Orders.LONGEST - first) {
        throw new IllegalArgumentException(
            "dataset sizes must be at least 0 and %d together at most, got %d at index %d"
                .formatted(Orders.LONGEST, datasetSizes[i], i));
      }
      sources.add(new Source(plans.get(i), first));
      first += datasetSizes[i];
    }
    return List.copyOf(sources);
  }

  /** The hash of sources: what a plan made of them depends on. */
  static String hash(List<Source> sources) {
    ContentHash hash = new ContentHash().add(sources.size());
    for (Source source : sources) {
      hash.add(source.plan.digest()).add(source.firstIndex);
    }
    return hash.hex();
  }
}
