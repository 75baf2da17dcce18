// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of a launch.
 *
 * @param ranks the number of processes that train on this machine
 * @param forwarded the signals that ranks get when the launcher gets them
 * @param elastic null for a launch whose number of ranks is fixed
 */
record LaunchSettings(
    int ranks,
    String mainClass,
    List<String> arguments,
    List<String> jvmOptions,
    Map<String, String> environment,
    boolean prefixRankZero,
    boolean oversubscribe,
    Duration grace,
    @Nullable Path logs,
    RankOutput.Shown shown,
    List<String> forwarded,
    @Nullable ElasticSettings elastic) {

  LaunchSettings {
    arguments = List.copyOf(arguments);
    jvmOptions = List.copyOf(jvmOptions);
    environment = Map.copyOf(environment);
    forwarded = List.copyOf(forwarded);
    if (elastic == null) {
      shown.requireBelow(ranks);
    } else if (elastic.place().kind() != ElasticSettings.Place.Kind.ELSEWHERE) {
      shown.requireBelow(elastic.ranks().maxRanks());
    }
  }

  /** Returns the number of processes that are started on this machine. */
  int processes() {
    return elastic == null ? ranks : ranks + elastic.spares();
  }
}
