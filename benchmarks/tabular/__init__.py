"""What the benchmarks of trees and boosting share: tables, contenders, resident memory, one or two threads."""
