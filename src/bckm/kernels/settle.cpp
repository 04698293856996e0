namespace bckm {

double settle(double value) { return value; }

}  // namespace bckm
