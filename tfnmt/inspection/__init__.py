"""What a model has learnt: TensorBoard's summaries of its training, and figures of its attention, trees and vectors."""
