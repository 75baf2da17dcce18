// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReportTest {
  private final Campaign.Totals totals = new Campaign.Totals();

  ReportTest() {
    totals.faults.add(new Campaign.Done(Fault.KILLED, 300, 90));
    totals.faults.add(new Campaign.Done(Fault.KILLED, 100, 50));
    totals.faults.add(new Campaign.Done(Fault.KILLED, 200, 60));
    totals.faults.add(new Campaign.Done(Fault.STRANGERS, 7, Double.NaN));
    totals.samples = 120;
    totals.epochs = 2;
    totals.generations = 5;
    totals.accuracies.add(0.97);
    totals.accuracies.add(0.96);
  }

  @Test
  void aRowHasMedianAndWorst() {
    assertThat(Report.of(totals, 0.9))
        .contains("| a rank is killed at any moment | 3 | 200 | 300 | 60 | 90 |\n")
        .contains("coordinator at the port | 1 | 7 | 7 | | |\n");
  }

  @Test
  void allThatHeldIsStated() {
    assertThat(Report.of(totals, 0.9))
        .contains("all 120 samples of 2 epochs once", "5 generations, all states equal")
        .contains("accuracy 0.9600, at least 0.9000");
  }

  @Test
  void theAccuracyMayBeLittleBelowThatOfATrainingWithoutFaults() {
    totals.compare(0.9619);
    assertThat(totals.broken).isEmpty();
    assertThat(Report.of(totals, 0.9)).contains("accuracy 0.9619 in one process without faults");
    totals.compare(0.9621);
    assertThat(totals.broken).containsExactly("the accuracy is 0.9600, without faults 0.9621");
  }

  @Test
  void aFaultIsStatedInPlaceOfSuccess() {
    totals.broken.add("sample 7 of epoch 0 was used 2 times");
    assertThat(Report.of(totals, 0.9))
        .contains("NOT HELD: sample 7 of epoch 0 was used 2 times")
        .doesNotContain("all states equal", "once");
  }
}
